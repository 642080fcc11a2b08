import { type TProperties, Type } from 'typebox'
import type { Caller } from '../../auth/caller.ts'
import { type Expansion, expandExtensions, readExpansion } from '../extensions/expand-extensions.ts'
import { parseExpand, refuse } from '../odata/expand.ts'
import { readSelect } from '../odata/select.ts'
import type { EntityContext, EntitySet, RelationExpansion, ShownSet } from './entity-set.ts'
import type { Json, Stored } from './property.ts'
import { type Rendering, showEntity } from './show-entity.ts'

export const selectOption = Type.Optional(
  Type.String({ description: 'Properties to return, separated by commas.' }),
)

export const expandOption = Type.Optional(
  Type.String({
    description:
      "Relations to return with their objects, such as members($select=id;$top=5), and extensions($filter=id eq '{extensionId}').",
  }),
)

/** The options of a request for one entity. */
export const entityQuery = Type.Object({ $select: selectOption })

/** Adds `$select` and `$expand` to the options of a request, where the set offers them. */
export function withViewOptions<Row extends Stored, Options extends TProperties>(
  set: EntitySet<Row>,
  options: Options,
) {
  const view = {
    ...(set.selectable !== false && { $select: selectOption }),
    ...((set.extensionsOn || set.expandable) && { $expand: expandOption }),
  }
  return Type.Object({
    ...options,
    ...(view as { $select: typeof selectOption; $expand: typeof expandOption }),
  })
}

/** How a caller gets to see entities. */
export interface View extends Rendering {
  /** The open extensions to show. */
  readonly expansion?: Expansion | undefined
  readonly relations?: readonly RelationExpansion[]
}

export function readView<Row extends Stored>(
  set: EntitySet<Row>,
  caller: Caller,
  { $select, $expand }: { $select?: string; $expand?: string },
): View {
  const items = $expand === undefined ? [] : parseExpand($expand)
  const isExtensions = ({ name }: { name: string }) =>
    name.toLowerCase() === 'extensions' && set.extensionsOn !== undefined
  const extensions = items.find(isExtensions)
  return {
    select: readSelect($select, [set]),
    expansion: extensions && readExpansion(extensions),
    relations: items
      .filter((item) => !isExtensions(item))
      .map((item) => set.expandable?.read(caller, item) ?? refuse(`cannot be '${item.name.slice(0, 50)}'`)),
    readable: set.readable?.(caller),
  }
}

export async function showRows<Row extends Stored>(
  context: EntityContext,
  set: ShownSet<Row>,
  rows: readonly Row[],
  { expansion, relations = [], ...rendering }: View,
): Promise<Record<string, Json>[]> {
  let shown = rows.map((row) => set.show?.(row, rendering) ?? showEntity(set, row, rendering))
  if (expansion && set.extensionsOn) {
    const extensions = await expandExtensions(context.tx, context.caller, set.extensionsOn, rows, expansion)
    shown = shown.map((one, at) => ({ ...one, extensions: extensions.get(rows[at]?.id ?? '') ?? [] }))
  }
  for (const relation of relations) {
    const related = await set.expandable?.show(context, rows, relation)
    shown = shown.map((one, at) => ({ ...one, ...related?.[at] }))
  }
  return shown
}
