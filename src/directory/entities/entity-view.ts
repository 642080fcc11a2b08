import { type TProperties, Type } from 'typebox'
import type { Caller } from '../../auth/caller.ts'
import {
  type Expansion,
  expandExtensions,
  expandOption,
  readExpansion,
} from '../extensions/expand-extensions.ts'
import { readSelect } from '../odata/select.ts'
import type { EntityContext, EntitySet, ShownSet } from './entity-set.ts'
import type { Json, Stored } from './property.ts'
import { type Rendering, showEntity } from './show-entity.ts'

export const selectOption = Type.Optional(
  Type.String({ description: 'Properties to return, separated by commas.' }),
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
    ...(set.extensionsOn && { $expand: expandOption }),
  }
  return Type.Object({
    ...options,
    ...(view as { $select: typeof selectOption; $expand: typeof expandOption }),
  })
}

/** How a caller gets to see entities. */
export interface View extends Rendering {
  readonly expansion?: Expansion | undefined
}

export function readView<Row extends Stored>(
  set: EntitySet<Row>,
  caller: Caller,
  { $select, $expand }: { $select?: string; $expand?: string },
): View {
  return {
    select: readSelect($select, [set]),
    expansion: readExpansion($expand),
    readable: set.readable?.(caller),
  }
}

export async function showRows<Row extends Stored>(
  { tx, caller }: EntityContext,
  set: ShownSet<Row>,
  rows: readonly Row[],
  { expansion, ...rendering }: View,
): Promise<Record<string, Json>[]> {
  const shown = rows.map((row) => set.show?.(row, rendering) ?? showEntity(set, row, rendering))
  if (!expansion || !set.extensionsOn) return shown
  const extensions = await expandExtensions(tx, caller, set.extensionsOn, rows, expansion)
  return shown.map((one, at) => ({ ...one, extensions: extensions.get(rows[at]?.id ?? '') ?? [] }))
}
