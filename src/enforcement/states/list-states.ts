import type { Sql } from '../../db/sql.ts'
import type { BoundDatabases } from './state-store.ts'

export interface DatabaseState {
  readonly id: string
  /** The truth about its masks: `Disabled` and `Observing` where none are meant to be there, and none are. */
  readonly state: 'Enforced' | 'Observing' | 'Disabled' | 'Pending' | 'Failed'
  readonly since: string | null
  readonly reason: string | null
  /** How many notes there are about it. */
  readonly notes: number
}

/** Every bound database and what became of its masks. */
export async function listStates(sql: Sql, bound: BoundDatabases): Promise<DatabaseState[]> {
  return await sql<DatabaseState[]>`
    select d.resource_id as id, case when s.state = 'Enforced' then d.aim else coalesce(s.state, 'Pending') end as state,
      to_char(s.since at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') as since, s.reason,
      coalesce(jsonb_array_length(s.notes), 0) as notes
    from (${bound(sql)}) d left join enforcement_state s on s.database_id = d.id
    order by d.key`
}

export async function countStates(
  sql: Sql,
  bound: BoundDatabases,
): Promise<Record<'Enforced' | 'Pending' | 'Failed', number>> {
  const counts = { Enforced: 0, Pending: 0, Failed: 0 }
  const rows = await sql<{ state: keyof typeof counts; count: number }[]>`
    select coalesce(s.state, 'Pending') as state, count(*)::int as count
    from (${bound(sql)}) d left join enforcement_state s on s.database_id = d.id
    group by 1`
  for (const { state, count } of rows) counts[state] = count
  return counts
}
