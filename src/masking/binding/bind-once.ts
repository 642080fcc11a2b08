import type { Query } from '../../db/query.ts'
import { fail } from '../../kernel/problem.ts'
import type { Binding } from './binding.ts'

const advisoryLock = 7_208_951_147

/** What a bound database is called for somebody of that tenant; null: no database of that id is bound. */
export async function nameBound(sql: Query, tenantId: string, id: string): Promise<string | null> {
  const [row] = await sql<{ target: string; tenantId: string }[]>`
    select key as target, tenant_id as "tenantId" from masked_database where id = ${id} and binding is not null`
  if (!row) return null
  return row.tenantId === tenantId ? row.target : 'another database of this service'
}

/**
 * Two resources with one database would take off each other's masks. Asked under a lock that all who bind take, until
 * they have committed. An index could not tell of it: it could not be made where there are two already.
 */
export async function refuseSecondBinding(
  tx: Query,
  own: { readonly id: string; readonly tenantId: string },
  { host, port, database }: Binding,
): Promise<void> {
  await tx`select pg_advisory_xact_lock(${advisoryLock})`
  const [other] = await tx<{ id: string }[]>`
    select id from masked_database where id <> ${own.id} and lower(binding ->> 'host') = lower(${host})
      and (binding ->> 'port')::int = ${port} and binding ->> 'database' = ${database} limit 1`
  if (!other) return
  const name = await nameBound(tx, own.tenantId, other.id)
  fail('Conflict', { reason: `This database is bound as ${name}; one database can be bound once.` })
}
