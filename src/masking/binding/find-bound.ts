import type { DatabaseAddress } from '../../db/database-url.ts'
import type { Query } from '../../db/query.ts'
import { addressOf, type Binding } from './binding.ts'

export interface Bound {
  readonly id: string
  /** Its path, in lower case. */
  readonly target: string
  readonly address: Pick<DatabaseAddress, 'host' | 'port' | 'database' | 'ssl'>
}

/** The bound databases that somebody may mean by `database` or `server/database`. */
export async function findBound(sql: Query, tenantId: string, text: string): Promise<Bound[]> {
  const cut = text.indexOf('/')
  const server = cut < 0 ? null : text.slice(0, cut)
  const rows = await sql<{ id: string; target: string; binding: Binding }[]>`
    select id, key as target, binding from masked_database
    where tenant_id = ${tenantId} and binding is not null and lower(name) = lower(${text.slice(cut + 1)})
      and (${server}::text is null or lower(server_name) = lower(${server}::text))
    limit 2`
  return rows.map(({ id, target, binding }) => {
    const { host, port, database, ssl } = addressOf(binding, '')
    return { id, target, address: { host, port, database, ...(ssl && { ssl }) } }
  })
}
