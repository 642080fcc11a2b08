import { fail } from '../../kernel/problem.ts'
import { type Placed, refuse } from './compare.ts'
import { type Field, type Fields, requireField } from './field.ts'

/** Objects that a relation leads to, for a filter on them. */
export interface FilteredRelation {
  readonly name: string
  /** The table of the pairs, and its columns for the near and the far object. Constants of ours. */
  readonly table: string
  readonly near: string
  readonly far: string
  readonly kinds: readonly string[]
  /** The properties of the far objects that the caller may filter by. */
  readonly fields: Fields
}

/**
 * The relations by their names in lower case; `denied` where the caller may not read the relation, `transitive` where a
 * filter would have to walk the memberships of each row.
 */
export type FilteredRelations = ReadonlyMap<string, FilteredRelation | 'denied' | 'transitive'>

/** A row with its fields: the row of the list, or an item of a collection. */
export interface ScopeOfRow {
  /** Alias in SQL. */
  readonly row: string
  readonly fields: Fields
  /** The type named in messages. */
  readonly type: string
  readonly relations?: FilteredRelations | undefined
  /** The item itself, in collections of texts. */
  readonly self?: Field
}

export interface Scope {
  readonly root: ScopeOfRow
  /** The variables of any and all, by name. */
  readonly variables: ReadonlyMap<string, ScopeOfRow>
  /** The variable of the any or all directly around. */
  readonly innermost?: string
}

/** The row that a path starts at, and the rest of the path. */
export function startPath(path: string, { root, variables }: Scope): { at: ScopeOfRow; rest: string } {
  const [first = '', ...others] = path.split('/')
  const at = variables.get(first)
  return at ? { at, rest: others.join('/') } : { at: root, rest: path }
}

/** The field that a path names. */
export function placeField(path: string, scope: Scope): Placed {
  const { at, rest } = startPath(path, scope)
  if (rest !== '') return { field: requireField(at, '$filter', rest, ({ filter }) => filter), row: at.row }
  return at.self ? { field: at.self, row: at.row } : refuse({ name: path }, 'needs a property behind it')
}

/**
 * The collection that a path names: a field that holds one, or a relation. Inside any and all it belongs to the item:
 * with any other collection, each level would multiply the work by the number of its items.
 */
export function placeCollection(
  path: string,
  scope: Scope,
): Placed | { relation: FilteredRelation; row: string } {
  if (scope.innermost !== undefined && path.split('/', 1)[0] !== scope.innermost)
    return refuse(
      { name: path },
      `is inside any or all, where a collection starts with '${scope.innermost}/'`,
    )
  const { at, rest } = startPath(path, scope)
  const relation = at.relations?.get(rest.toLowerCase())
  if (relation === 'denied') return fail('InsufficientPrivileges')
  if (relation === 'transitive')
    return fail('UnsupportedQuery', {
      option: '$filter',
      reason: `takes direct relations and not '${rest}': /groups/{id}/transitiveMembers lists the members of a group at any depth`,
    })
  if (relation) return { relation, row: at.row }
  const placed = placeField(path, scope)
  return placed.field.type === 'texts' || placed.field.type === 'objects'
    ? placed
    : refuse(placed.field, 'is no collection')
}
