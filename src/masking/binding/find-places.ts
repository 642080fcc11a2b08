import type { Place } from '../../db/database-url.ts'
import type { Fragment, Query } from '../../db/query.ts'
import { isUuid } from '../../kernel/uuid.ts'
import { type Binding, foldPlaces, placesOf, spreadPlaces } from './binding-address.ts'

/** Where sessions in a database may be at present. */
interface BoundPlaces {
  readonly database: string
  readonly places: readonly Place[]
  /** Its binding names several hosts. */
  readonly isSeveral: boolean
  readonly version?: string
}

type PlacedBinding = Pick<Binding, 'host' | 'port' | 'others' | 'database'>

/** By the ids that `findBound` and `findUnbound` give; what they would not find any more has no entry. */
export async function findPlaces(
  sql: Query,
  tenantId: string,
  ids: readonly string[],
): Promise<Map<string, BoundPlaces>> {
  const unbound = ids.filter((id) => !isUuid(id))
  const [own, all] = await Promise.all([
    sql<{ id: string; binding: PlacedBinding; version: string }[]>`
      select id, ${placeColumn(sql)} as binding, binding_version::text as version from masked_database
      where id = any(${ids.filter(isUuid)}::uuid[]) and binding is not null`,
    unbound.length === 0
      ? []
      : sql<{ binding: PlacedBinding }[]>`
          select ${placeColumn(sql)} as binding from masked_database
          where tenant_id = ${tenantId} and binding_reached_at is not null`,
  ])
  const rows = all.map(({ binding }) => ({ binding, folded: foldPlaces(binding) }))
  return new Map([
    ...own.map(({ id, binding, version }) => {
      const { database, others = [] } = binding
      return [id, { database, places: placesOf(binding), isSeveral: others.length > 0, version }] as const
    }),
    ...unbound.flatMap((id) => {
      const found = findServer(id, rows)
      return found ? [[id, found] as const] : []
    }),
  ])
}

/**
 * Undefined: no binding leads to the server, or the database is bound by now, by whatever list of its hosts. The server of an unbound
 * database is not watched.
 */
function findServer(
  id: string,
  rows: readonly { readonly binding: PlacedBinding; readonly folded: readonly string[] }[],
): BoundPlaces | undefined {
  // As `serverOf` has them: no host has a slash or a comma.
  const [server = ''] = id.split('/', 1)
  const database = id.slice(server.length + 1)
  const known = spreadPlaces(server.split(','), rows)
  const same = rows.filter(({ folded }) => folded.some((place) => known.has(place)))
  if (same.length === 0 || same.some(({ binding }) => binding.database === database)) return undefined
  return { database, places: same.flatMap(({ binding }) => placesOf(binding)), isSeveral: false }
}

/** Without the certificate, which may be long. */
function placeColumn(sql: Query): Fragment {
  return sql`jsonb_strip_nulls(jsonb_build_object('host', binding -> 'host', 'port', binding -> 'port',
    'others', binding -> 'others', 'database', binding -> 'database'))`
}
