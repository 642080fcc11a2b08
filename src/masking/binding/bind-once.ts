import { lockRightsToGive } from '../../auth/rights-lock.ts'
import { lockUntilCommit } from '../../db/advisory-locks.ts'
import type { Query } from '../../db/query.ts'
import { fail } from '../../kernel/problem.ts'
import type { DatabasePlace } from '../place.ts'
import { type Binding, serverOf } from './binding-address.ts'
import { claimNames } from './gateway-names.ts'

/** The key of a bound database, but only for callers of its own tenant; null when no database of that id is bound. */
export async function nameBound(sql: Query, tenantId: string, id: string): Promise<string | null> {
  const [row] = await sql<{ target: string; tenantId: string }[]>`
    select key as target, tenant_id as "tenantId" from masked_database where id = ${id} and binding is not null`
  if (!row) return null
  return row.tenantId === tenantId ? row.target : 'another database of this service'
}

/** True when a login to the one database proves that the other is reached. */
export function isSameAddress(one: Binding | null, other: Binding | null): boolean {
  return (
    one !== null && other !== null && serverOf(one) === serverOf(other) && one.database === other.database
  )
}

/** True when the caller may read the database of this key. */
export type MayRead = (target: string) => Promise<boolean>

/**
 * Refuses a database that the resource `id` is bound to. The refusal names the resource to callers who may read it:
 * a caller who may bind could otherwise find out the ids of foreign resources by their addresses.
 */
export async function refuseBound(
  sql: Query,
  tenantId: string,
  id: string,
  state: 'bound' | 'masked',
  mayRead: MayRead,
): Promise<void> {
  const target = await nameBound(sql, tenantId, id)
  if (target === null) return
  const name = (await mayRead(target)) ? target : 'another resource, which you may not read'
  fail('Conflict', { reason: `This database is ${state} as ${name}; one database can be bound once.` })
}

/**
 * Refuses a database that another resource is bound to: each of the two would remove the other's masks. Binding takes
 * an advisory lock until commit; a unique index could not be created where two such rows exist already. A binding that
 * never logged in refuses none: a made-up one would keep the owner of the database out (ENF-145).
 */
export async function refuseSecondBinding(
  tx: Query,
  own: { readonly id: string; readonly tenantId: string },
  binding: Binding,
  mayRead: MayRead,
): Promise<void> {
  await lockUntilCommit(tx, 'bindings')
  const other = await findReached(tx, own.id, binding)
  if (other) await refuseBound(tx, own.tenantId, other, 'bound', mayRead)
}

/**
 * The id of another resource whose binding has logged in to the same servers and database. A list of hosts reserves none of
 * them alone: a caller could name a server of theirs beside one that does not let them in.
 */
async function findReached(sql: Query, ownId: string, binding: Binding): Promise<string | undefined> {
  const others = await sql<{ id: string; binding: Binding }[]>`
    select id, binding from masked_database
    where id <> ${ownId} and binding ->> 'database' = ${binding.database} and binding_reached_at is not null`
  return others.find((other) => isSameAddress(other.binding, binding))?.id
}

/**
 * Records the first login of a binding, which takes the short names at the gateway that are free. Returns the name of
 * another resource whose binding logged in to the same database before, and records nothing then. The row is locked before
 * the advisory lock, in the order of a PUT.
 */
export async function recordReached(
  tx: Query,
  { id, version, binding }: { readonly id: string; readonly version: number; readonly binding: Binding },
): Promise<string | null> {
  const [own] = await tx<({ tenantId: string } & DatabasePlace)[]>`
    select tenant_id as "tenantId", subscription_id as "subscriptionId", resource_group as "resourceGroupName",
      server_name as "serverName", name as "databaseName"
    from masked_database
    where id = ${id} and binding_version = ${version} and binding_reached_at is null for update`
  if (!own) return null
  const { tenantId, ...place } = own
  await lockUntilCommit(tx, 'bindings')
  const other = await findReached(tx, id, binding)
  if (other !== undefined) return nameBound(tx, tenantId, other)
  await claimNames(tx, tenantId, place)
  // DIR-290: exempt lists and mappings of the database count from now on.
  await lockRightsToGive(tx)
  await tx`update masked_database set binding_reached_at = now() where id = ${id}`
  return null
}

/** Records the cluster of a binding's servers, once. Returns the recorded one; null: the binding is another one by now. */
export async function pinSystem(
  sql: Query,
  id: string,
  version: number,
  system: string,
): Promise<string | null> {
  const [row] = await sql<{ system: string }[]>`
    update masked_database set binding_system = coalesce(binding_system, ${system})
    where id = ${id} and binding_version = ${version} returning binding_system as system`
  return row?.system ?? null
}
