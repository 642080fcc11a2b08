import type { Sql } from '../../db/sql.ts'
import type { BoundDatabases } from './state-store.ts'

export interface DatabaseState {
  readonly id: string
  readonly state: 'Enforced' | 'Pending' | 'Failed'
  readonly reason: string | null
}

/** Every bound database and what became of its masks. */
export async function listStates(sql: Sql, bound: BoundDatabases): Promise<DatabaseState[]> {
  return await sql<DatabaseState[]>`
    select d.resource_id as id, coalesce(s.state, 'Pending') as state, s.reason
    from (${bound(sql)}) d left join enforcement_state s on s.database_id = d.id
    order by d.key`
}

export async function countStates(
  sql: Sql,
  bound: BoundDatabases,
): Promise<Record<DatabaseState['state'], number>> {
  const counts = { Enforced: 0, Pending: 0, Failed: 0 }
  const rows = await sql<{ state: DatabaseState['state']; count: number }[]>`
    select coalesce(s.state, 'Pending') as state, count(*)::int as count
    from (${bound(sql)}) d left join enforcement_state s on s.database_id = d.id
    group by 1`
  for (const { state, count } of rows) counts[state] = count
  return counts
}
