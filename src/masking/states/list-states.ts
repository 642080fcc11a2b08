import { setTimeout as pause } from 'node:timers/promises'
import type { Sql } from '../../db/sql.ts'
import { countOf } from '../../kernel/count-of.ts'
import {
  type EnforcementState,
  enforcementStates,
  judgeState,
  type StatedPolicy,
  stateReasons,
  type TurnState,
} from '../../kernel/enforcement-state.ts'
import { selectBound, selectEvery } from '../binding/find-bound.ts'

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
export async function listStates(sql: Sql, databases = selectBound): Promise<DatabaseState[]> {
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
export async function countStates(sql: Sql) {
  const counts = new Map(enforcementStates.map((state) => [state, { databases: 0, rules: 0 }]))
  for (const { state, rules } of await listStates(sql, selectEvery)) {
    const before = counts.get(state) ?? { databases: 0, rules: 0 }
    counts.set(state, { databases: before.databases + 1, rules: before.rules + rules })
  }
  return Object.fromEntries(counts)
}

/** Those of the places, as `readPlace` names them, that are of bound databases with masks. */
export async function findMaskedPlaces(sql: Sql, places: readonly string[]): Promise<string[]> {
  const rows = await sql<{ place: string }[]>`
    select distinct m.place from masked_place m join (${selectBound(sql)}) d on d.id = m.database_id
    where m.place = any(${places}::text[])`
  return rows.map(({ place }) => place)
}

const unchecked = 'The database has not been checked since the service was restored from a backup.'
const pollMs = 100

/** After a restore: no state counts until the database was looked at again, which is due at once. */
export async function markUnchecked(tx: Sql): Promise<void> {
  await tx`
    insert into enforcement_state as s (database_id, state, reason, checked_at)
    select id, 'Pending', ${unchecked}, to_timestamp(0) from (${selectBound(tx)}) d
    on conflict (database_id) do update set state = excluded.state, reason = excluded.reason, since = now(),
      checked_at = excluded.checked_at, next_check_at = now(), failures = 0`
}

/** How many bound databases were not looked at since the restore. */
async function countUnchecked(sql: Sql, restoredAt: Date): Promise<number> {
  const [row] = await sql<{ count: number }[]>`
    select count(*)::int as count from (${selectBound(sql)}) d
    join enforcement_state s on s.database_id = d.id where s.checked_at < ${restoredAt}`
  return row?.count ?? 0
}

export interface ChecksAfterRestore {
  /** Databases that are not checked yet; null: all are, or nothing was restored. */
  describe(): string | null
  /** Resolves when every bound database was looked at, whatever was found there. */
  settled(): Promise<void>
}

/** The checks that a restored service waits for before its gateway opens. */
export function expectChecks(sql: Sql, restoredAt: Date | null): ChecksAfterRestore {
  let left = restoredAt === null ? 0 : Number.POSITIVE_INFINITY
  return {
    describe() {
      if (left === 0) return null
      const how = Number.isFinite(left) ? countOf(left, 'database') : 'the databases'
      return `the masks of ${how} have not been checked since the restore; the gateway is closed`
    },
    async settled() {
      if (restoredAt === null) return
      for (;;) {
        left = await countUnchecked(sql, restoredAt).catch(() => left)
        if (left === 0) return
        await pause(pollMs)
      }
    },
  }
}

/**
 * Has every bound database looked at soon, as after a change: a quiet one, too. Returns the time of the request, on the
 * clock of the store.
 */
export async function requestChecks(sql: Sql): Promise<Date> {
  await sql`update enforcement_state set next_check_at = now(), last_change = nextval('resource_version')`
  const [row] = await sql<{ at: Date }[]>`select clock_timestamp() as at`
  if (!row) throw new Error('the store did not answer')
  return row.at
}

/** Bound databases that were not enforced since a moment. */
export async function listUnenforced(sql: Sql, since: Date): Promise<string[]> {
  const rows = await sql<{ id: string }[]>`
    select d.resource_id as id from (${selectBound(sql)}) d left join enforcement_state s on s.database_id = d.id
    where s.enforced_at is null or s.enforced_at < ${since} order by d.key`
  return rows.map(({ id }) => id)
}
