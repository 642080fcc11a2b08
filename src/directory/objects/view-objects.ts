import { Type } from 'typebox'
import type { Caller } from '../../auth/caller.ts'
import { holds } from '../../auth/permit.ts'
import { fail } from '../../kernel/problem.ts'
import { castPattern } from '../../kernel/surface.ts'
import type { EntityContext, ShownSet } from '../entities/entity-set.ts'
import { expandOption, readView, selectOption, showRows, type View } from '../entities/entity-view.ts'
import type { Json } from '../entities/property.ts'
import { contextOf } from '../entities/show-entity.ts'
import { renderRelated } from '../membership/render-related.ts'
import { refuse } from '../odata/expand.ts'
import { readSelect } from '../odata/select.ts'
import type { ObjectKind, Resource } from './kinds/resource.ts'
import { isObjectKind, resources } from './kinds/resources.ts'
import { objectPermissions } from './object-permissions.ts'
import { type ObjectSet, objectSet } from './object-set.ts'
import type { DirectoryObject } from './object-store.ts'

/** The options of a request for one object of several kinds. */
export const objectQuery = Type.Object({ $select: selectOption, $expand: expandOption })

/** Objects of several kinds, or of the one kind that the path casts them to, as the request asks to see them. */
export interface ObjectView {
  readonly kinds: readonly ObjectKind[]
  /** The `@odata.context` of a collection of them. */
  readonly context: string
  show(rows: readonly DirectoryObject[]): Promise<Record<string, Json>[]>
  /** One of them as the whole answer. */
  showWhole(row: DirectoryObject): Promise<Record<string, Json>>
}

export function viewObjects(
  context: EntityContext,
  possible: readonly ObjectKind[],
  query: { $select?: string; $expand?: string },
): ObjectView {
  const { caller, params, request } = context
  const isCast = params.cast !== undefined
  const kinds = readCast(possible, params.cast)
  const shown = kinds.map((kind) => resources[kind])
  const [only] = shown.length === 1 ? shown : []
  const expanded = query.$expand === undefined ? undefined : openToExpand(caller, only)
  const view: View = expanded
    ? readView(expanded, caller, query)
    : { select: readSelect(query.$select, only ? [only] : [anyObject, ...shown]) }
  const set: ShownSet<DirectoryObject> = {
    properties: {},
    ...expanded,
    show: (object) => renderRelated(caller, object, { typed: !isCast, select: view.select }),
  }
  const name = isCast && only ? only.set : 'directoryObjects'
  const described = contextOf(request.baseUrl, name, view.select)
  const show = (rows: readonly DirectoryObject[]) => showRows(context, set, rows, view)
  return {
    kinds,
    context: described,
    show,
    async showWhole(row) {
      const [one] = await show([row])
      return { '@odata.context': `${described}/$entity`, ...one }
    },
  }
}

const anyObject = { kind: 'directoryObject', properties: {} }

/** The relations to expand are those of one kind, and the caller must be permitted to read that kind. */
function openToExpand(caller: Caller, only: Resource | undefined): ObjectSet {
  if (!only) return refuse('needs the name of a type at the end of the path')
  if (!holds(caller, objectPermissions[only.kind].read)) return fail('InsufficientPrivileges')
  return objectSet(only)
}

const cast = new RegExp(castPattern, 'i')
const kindsByName = new Map(Object.keys(resources).map((kind) => [kind.toLowerCase(), kind]))

/** The kinds of a path: `/members/vendor.graph.user` leaves the members that are users. */
export function readCast(
  possible: readonly ObjectKind[],
  segment: string | undefined,
): readonly ObjectKind[] {
  if (segment === undefined) return possible
  const kind = kindsByName.get(cast.exec(segment)?.[1]?.toLowerCase() ?? '')
  if (kind === undefined || !isObjectKind(kind))
    return fail('UnknownSegment', { segment: segment.slice(0, 100) })
  return [kind]
}
