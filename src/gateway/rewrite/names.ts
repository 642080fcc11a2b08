import type { MaskedRelation, WatchedRelation } from '../../contracts/role-masks.ts'
import type { Catalog } from '../../sql/references.ts'
import type { RangeVar } from '../../sql/syntax-tree.ts'
import type { Hiding } from './hide-controller-schemas.ts'
import type { MaskMap } from './mask-map.ts'

/** The meaning of names in a session at one statement. */
export interface Names {
  readonly masks: MaskMap
  readonly database: string
  /** Of the login. */
  readonly role?: string | undefined
  readonly path: readonly string[]
  /** Temporary relations, which come before everything else. */
  readonly hidden: ReadonlySet<string>
  /** Catalog rows that the session is not shown. */
  readonly hiding?: Hiding | undefined
  /** Masks may be stored in other tables. */
  readonly allowsCopies?: boolean | undefined
}

/** Temporary relations of a session, those of a text that the server refuses among them. */
export const maxHidden = 2_000

/** Beyond the limit the oldest is forgotten: its name then leads to a twin, and never to a masked table. */
export function hideName(hidden: Set<string>, name: string): void {
  hidden.delete(name)
  hidden.add(name)
  if (hidden.size <= maxHidden) return
  for (const oldest of hidden) {
    hidden.delete(oldest)
    return
  }
}

/** The masked relation of a name; undefined also where a temporary one comes first. */
export function findMasked(names: Names, range: RangeVar): MaskedRelation | undefined {
  const schema = isMovable(names, range) ? findSchema(names, range) : undefined
  return schema === undefined ? undefined : names.masks.find(schema, range.relname)
}

/** The relation whose twin goes by this name. */
export function findBase(names: Names, range: RangeVar): MaskedRelation | undefined {
  const schema = isMovable(names, range) ? findSchema(names, range) : undefined
  return schema === undefined ? undefined : names.masks.findBase(schema, range.relname)
}

/** A name with another database stays: PostgreSQL tells its client what it makes of it. */
function isMovable(names: Names, range: RangeVar): boolean {
  const isHere = range.catalogname === undefined || range.catalogname === names.database
  return isHere && !isTemporary(names, range)
}

/**
 * The watched relation of a name. If several could be meant, all that they show together. Temporary relations do not
 * hide it: whether one still exists is a guess.
 */
export function findWatched(names: Names, range: RangeVar): WatchedRelation | undefined {
  const { masks } = names
  const schema = findSchema(names, range)
  if (schema === 'pg_temp') return masks.findWatchedTemporary(range.relname)
  return schema === undefined
    ? masks.findWatchedAnywhere(range.relname)
    : masks.findWatched(schema, range.relname)
}

/**
 * A database in front of the name is taken for this one: PostgreSQL refuses every other, and its name may be in another encoding
 * than the database.
 */
export function findSchema(names: Names, { schemaname, relname }: RangeVar): string | undefined {
  return schemaname ?? names.masks.resolve(relname, names)
}

/**
 * The watched relation that the server may read by a name that it gets as it is. If several are on the
 * search path, all that they show together: the gateway does not follow which of them the session can see.
 */
export function findPossible(names: Names, range: RangeVar): WatchedRelation | undefined {
  const { masks } = names
  if (!isUncertain(names, range)) return findWatched(names, range)
  const schema = findSchema(names, range)
  const meanings = masks.findMeanings(range.relname, names)
  const others = meanings.filter((each) => each !== schema)
  return masks.findWatchedAmong(range.relname, schema === undefined ? others : [schema, ...others])
}

/** Several relations on the search path have this name. */
export function isUncertain(names: Names, { schemaname, relname }: RangeVar): boolean {
  return schemaname === undefined && names.masks.findMeanings(relname, names).length > 1
}

/** The catalog by which names of columns are resolved: what is known of it are the relations with masks. */
export function catalogOf(names: Names): Catalog {
  return {
    locate(range) {
      const watched = findPossible(names, range)
      const schema = isTemporary(names, range) ? undefined : findSchema(names, range)
      const columns = watched?.attributes.length ? watched.attributes : undefined
      return { schema, columns, mayLackColumns: isUncertain(names, range) }
    },
  }
}

/** A read of it goes to the twin. */
export function isMoved(
  { masks }: Names,
  relation: WatchedRelation | undefined,
  withChildren: boolean,
): boolean {
  const moved = relation && masks.find(relation.schema, relation.name)
  return moved !== undefined && (withChildren || !moved.hasChildren)
}

export function isTemporary({ hidden }: Names, range: RangeVar): boolean {
  const { schemaname, relname, relpersistence } = range
  if (relpersistence === 't' || schemaname === 'pg_temp') return true
  return schemaname === undefined && hidden.has(relname)
}
