import type { Fragment, Query } from '../../db/query.ts'
import { type DatabasePlace, fold, keyOf } from '../place.ts'

/** The names that may lead to a database, the shortest first; the last one is its whole path and never another's. */
function namesOf({ subscriptionId, resourceGroupName, serverName, databaseName }: DatabasePlace): string[] {
  const parts = [databaseName, serverName, resourceGroupName, subscriptionId].map(fold)
  return parts.map((_, at) =>
    parts
      .slice(0, at + 1)
      .toReversed()
      .join('/'),
  )
}

/** A name as clients of the gateway send it, and the key of the database whose whole path it is, if it can be one. */
export function readName(text: string): { readonly name: string; readonly key: string | null } {
  const [subscriptionId, resourceGroupName, serverName, databaseName, ...more] = text.split('/')
  const isWhole = databaseName !== undefined && more.length === 0
  const place = {
    subscriptionId: subscriptionId ?? '',
    resourceGroupName: resourceGroupName ?? '',
    serverName: serverName ?? '',
    databaseName: databaseName ?? '',
  }
  return { name: fold(text), key: isWhole ? keyOf(place) : null }
}

/** The shortest name that leads to a database, as a column for statements over `masked_database`. */
export function gatewayNameColumn(sql: Query): Fragment {
  return sql`case when binding is null then null else coalesce(
    (select held.name from gateway_name held where held.tenant_id = masked_database.tenant_id
      and held.key = masked_database.key order by length(held.name) limit 1),
    ${partsOfKey(sql, [3, 5, 9, 11])}) end`
}

/** True for databases that a name leads to: by the whole path, or as the holder of a shorter name. */
export function isNamed(sql: Query, { name, key }: ReturnType<typeof readName>): Fragment {
  const names = sql`array[${partsOfKey(sql, [11])}, ${partsOfKey(sql, [9, 11])}, ${partsOfKey(sql, [5, 9, 11])}]`
  return sql`(masked_database.key = ${key} or exists (
    select from gateway_name held where held.tenant_id = masked_database.tenant_id and held.name = ${name}
      and (held.key = masked_database.key or (held.key is null and ${name} = any(${names})))))`
}

/** Segments of a key, which is a canonical path in lower case: names have no slash. */
function partsOfKey(sql: Query, positions: readonly number[]): Fragment {
  return sql.unsafe(
    `concat_ws('/', ${positions.map((at) => `split_part(masked_database.key, '/', ${at})`).join(', ')})`,
  )
}

export interface GatewayName {
  /** The shortest one that leads to the database. */
  readonly name: string
  /** The name of the database alone is another's. */
  readonly isTaken: boolean
}

/**
 * Takes for a database the names that no other has had, and those of databases that are not bound any more where the
 * caller may write these databases as well. Other names stay where they are: a client that sends one must not reach
 * another database than before because a stranger bound one. Call it when the binding has logged in, and not before: a
 * made-up binding would keep the name from the database that clients expect under it (GATE-114).
 */
export async function claimNames(
  tx: Query,
  tenantId: string,
  place: DatabasePlace,
  mayWrite: (scope: string) => Promise<boolean> = async () => false,
): Promise<GatewayName> {
  const key = keyOf(place)
  const names = namesOf(place)
  for (const name of names.slice(0, -1)) {
    await tx`
      insert into gateway_name (tenant_id, name, key) values (${tenantId}, ${name}, ${key}) on conflict do nothing`
    const [holder] = await tx<{ key: string | null; isBound: boolean }[]>`
      select key, exists (select from masked_database d where d.tenant_id = g.tenant_id and d.key = g.key
        and d.binding is not null) as "isBound"
      from gateway_name g where tenant_id = ${tenantId} and name = ${name} for update`
    if (holder && holder.key !== key && !holder.isBound && (await mayWrite(holder.key ?? '/')))
      await tx`
        update gateway_name set key = ${key}, claimed_at = now() where tenant_id = ${tenantId} and name = ${name}`
  }
  return await readNames(tx, tenantId, place)
}

/** The name by which clients reach a bound database now. */
export async function readNames(tx: Query, tenantId: string, place: DatabasePlace): Promise<GatewayName> {
  const key = keyOf(place)
  const names = namesOf(place)
  const holders = await tx<{ name: string; key: string | null }[]>`
    select name, key from gateway_name where tenant_id = ${tenantId} and name = any(${names})`
  const holderOf = new Map(holders.map((holder) => [holder.name, holder.key]))
  const [shortest = ''] = names
  return {
    name: names.find((name) => holderOf.get(name) === key) ?? names.at(-1) ?? '',
    isTaken: holderOf.has(shortest) && holderOf.get(shortest) !== key,
  }
}
