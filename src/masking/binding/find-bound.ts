import { type DatabaseAddress, isSamePlace, type Place } from '../../db/database-url.ts'
import type { HostGuard } from '../../db/host-guard.ts'
import type { Fragment, Query } from '../../db/query.ts'
import { addressOf, type Binding, placesOf } from './binding-address.ts'
import { gatewayNameColumn, isNamed, readName } from './gateway-names.ts'

export interface Bound {
  readonly id: string
  /** Its path, in lower case. */
  readonly target: string
  /** Of the binding, which the address is of. */
  readonly version?: string
  /** The binding has logged in to the address. */
  readonly isReached: boolean
  readonly address: Pick<DatabaseAddress, 'database' | 'ssl'> &
    LocatedPlace & {
      /** Where the database may be instead. */
      readonly others?: readonly LocatedPlace[]
    }
  /** Sessions that ask for read-only transactions go to a standby. */
  readonly readsAtStandby?: boolean
  /** Of a database that is not bound: those whose bindings lead to its server, the one that the address is of first. */
  readonly neighbourIds?: readonly string[]
}

interface LocatedPlace extends Place {
  /** The addresses of the host that a binding may connect to. */
  readonly addresses: readonly string[]
}

export interface Locator {
  readonly guard: HostGuard
  /** Where the primary of a bound database with several hosts is; undefined: it is not known. */
  findPrimary(databaseId: string): Promise<Place | undefined>
}

/** The bound database that a name leads to; two where several had the name before names were held. */
export async function findBound(
  sql: Query,
  locator: Locator,
  tenantId: string,
  text: string,
): Promise<Bound[]> {
  const rows = await sql<
    { id: string; target: string; binding: Binding; version: string; isReached: boolean }[]
  >`
    select id, key as target, binding, binding_version::text as version, binding_reached_at is not null as "isReached"
    from masked_database
    where tenant_id = ${tenantId} and binding is not null and ${isNamed(sql, readName(text))} limit 2`
  return await Promise.all(
    rows.map(async ({ id, target, binding, version, isReached }) => ({
      id,
      target,
      version,
      isReached,
      address: await locate(id, binding, locator),
      readsAtStandby: binding.readOnlySessions === 'Standby',
    })),
  )
}

/** Of several hosts the primary comes first. A host that is unknown, or that may not be bound to, has no addresses. */
export async function locate(
  databaseId: string,
  binding: Binding,
  { guard, findPrimary }: Locator,
): Promise<Bound['address']> {
  const { database, ssl } = addressOf(binding, '', guard)
  const primary = binding.others && (await findPrimary(databaseId))
  const isPrimary = (place: Place) => primary !== undefined && isSamePlace(place, primary)
  const places = placesOf(binding).toSorted((a, b) => Number(isPrimary(b)) - Number(isPrimary(a)))
  const located = await Promise.all(
    places.map(async (place) => ({
      ...place,
      addresses: await guard(place.host, place.port).catch(() => []),
    })),
  )
  const [first, ...others] = located as [LocatedPlace, ...LocatedPlace[]]
  return { ...first, ...(others.length > 0 && { others }), database, ...(ssl && { ssl }) }
}

/** `subscription/group/server/database` from its end; undefined: it is longer. */
export function splitName(text: string) {
  const [name = '', server = null, group = null, subscription = null, ...rest] = text.split('/').reverse()
  return rest.length > 0 ? undefined : { name, server, group, subscription }
}

export interface BoundName {
  /** The shortest that leads to the database at the gateway. */
  readonly name: string
  /** The names of the database, its server, its group and its subscription. */
  readonly parts: readonly string[]
}

export async function listBoundNames(sql: Query, tenantId: string): Promise<BoundName[]> {
  return await sql<BoundName[]>`
    select ${gatewayNameColumn(sql)} as name, array[name, server_name, resource_group, subscription_id] as parts
    from masked_database where tenant_id = ${tenantId} and binding is not null
    order by lower(server_name), lower(masked_database.name), key`
}

/** A query for every bound database (id, resource_id, key, binding, policy), to be put into a larger statement. */
export function selectBound(sql: Query): Fragment {
  return sql`${selectEvery(sql)} where binding is not null`
}

/** The same for every database, with the number of its rules. `policy` is a `StatedPolicy`. */
export function selectEvery(sql: Query): Fragment {
  const rules = sql`from masking_rule r where r.database_id = masked_database.id`
  return sql`
    select id, key, binding_version::text as binding, '/subscriptions/' || subscription_id || '/resourceGroups/' || resource_group
      || '/providers/Vendor.Sql/servers/' || server_name || '/databases/' || name as resource_id,
      jsonb_build_object('isBound', binding is not null, 'state', policy_state, 'isChosen', policy_state_chosen,
        'mode', policy_mode, 'hasRules', exists (select ${rules})) as policy, (select count(*) ${rules}) as rules
    from masked_database`
}
