import type { Sql } from '../../db/sql.ts'

export interface DatabaseState {
  readonly id: string
  readonly state: 'Enforced' | 'Pending' | 'Failed'
  readonly reason: string | null
}

/** Every bound database and what became of its masks. */
export async function listStates(sql: Sql): Promise<DatabaseState[]> {
  return await sql<DatabaseState[]>`
    select '/subscriptions/' || d.subscription_id || '/resourceGroups/' || d.resource_group
        || '/providers/Vendor.Sql/servers/' || d.server_name || '/databases/' || d.name as id,
      coalesce(s.state, 'Pending') as state, s.reason
    from masked_database d left join enforcement_state s on s.database_id = d.id
    where d.binding is not null order by d.key`
}

export async function countStates(sql: Sql): Promise<Record<DatabaseState['state'], number>> {
  const counts = { Enforced: 0, Pending: 0, Failed: 0 }
  const rows = await sql<{ state: DatabaseState['state']; count: number }[]>`
    select coalesce(s.state, 'Pending') as state, count(*)::int as count
    from masked_database d left join enforcement_state s on s.database_id = d.id
    where d.binding is not null group by 1`
  for (const { state, count } of rows) counts[state] = count
  return counts
}
