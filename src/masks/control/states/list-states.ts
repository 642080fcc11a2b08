import type { Sql } from '../../../db/sql.ts'
import {
  type EnforcementState,
  enforcementStates,
  judgeState,
  type StatedPolicy,
  stateReasons,
  type TurnState,
} from '../../../kernel/enforcement-state.ts'
import type { BoundDatabases } from './state-store.ts'

export interface DatabaseState {
  readonly id: string
  readonly state: EnforcementState
  readonly since: string | null
  readonly reason: string | null
  /** How many notes and rules there are. */
  readonly notes: number
  readonly rules: number
}

/** Databases and what became of their masks. */
export async function listStates(sql: Sql, databases: BoundDatabases): Promise<DatabaseState[]> {
  const rows = await sql<(DatabaseState & { readonly policy: StatedPolicy; readonly turn: TurnState })[]>`
    select d.resource_id as id, d.policy, s.state as turn, s.reason, d.rules::int4 as rules,
      coalesce(jsonb_array_length(s.notes), 0) as notes,
      to_char(s.since at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') as since
    from (${databases(sql)}) d left join enforcement_state s on s.database_id = d.id
    order by d.key`
  return rows.map(({ policy, turn, ...row }) => {
    const state = judgeState(policy, turn)
    return { ...row, state, reason: stateReasons[state] ?? row.reason }
  })
}

/** Databases, and the rules in them, by state. */
export async function countStates(sql: Sql, databases: BoundDatabases) {
  const counts = new Map(enforcementStates.map((state) => [state, { databases: 0, rules: 0 }]))
  for (const { state, rules } of await listStates(sql, databases)) {
    const before = counts.get(state) ?? { databases: 0, rules: 0 }
    counts.set(state, { databases: before.databases + 1, rules: before.rules + rules })
  }
  return Object.fromEntries(counts)
}

/** Those of the places, as `readPlace` names them, that are of bound databases with masks. */
export async function findMaskedPlaces(
  sql: Sql,
  bound: BoundDatabases,
  places: readonly string[],
): Promise<string[]> {
  const rows = await sql<{ place: string }[]>`
    select distinct m.place from masked_place m join (${bound(sql)}) d on d.id = m.database_id
    where m.place = any(${places}::text[])`
  return rows.map(({ place }) => place)
}
