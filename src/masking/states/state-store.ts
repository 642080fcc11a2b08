import type { BeforeTurn, DueDatabase, EnforcementReport, StateStore } from '../../contracts/enforcement.ts'
import type { Fragment } from '../../db/query.ts'
import type { Sql } from '../../db/sql.ts'
import {
  judgeState,
  type StatedPolicy,
  stateReasons,
  type TurnState,
} from '../../kernel/enforcement-state.ts'
import { selectBound } from '../binding/find-bound.ts'
import { readExemptElsewhere, storeRoles } from './exempt-records.ts'

const untouched: EnforcementReport = {
  state: 'Pending',
  since: null,
  reason: 'The database has not been looked at yet.',
  notes: [],
  checkedAt: null,
  enforcedAt: null,
  driftRepairs: 0,
  lastDriftAt: null,
}

export function createStateStore(sql: Sql): StateStore {
  return {
    exemptRolesOf: (databaseId) => storeRoles(sql, databaseId),
    readExemptElsewhere: (place, databaseId) => readExemptElsewhere(sql, place, databaseId),
    ...readsOf(sql),
    ...writesOf(sql),
  }
}

/** True: the next look at a bound database is due. Part of a larger statement. */
export const selectIsDue = (sql: Sql): Fragment => sql`exists (
  select from (${selectBound(sql)}) d left join enforcement_state s on s.database_id = d.id
  where s.next_check_at is null or s.next_check_at <= now())`

type Reads = Pick<StateStore, 'read' | 'takeDue' | 'readBeforeTurn' | 'isMaskedPlace'>
type Writes = Pick<StateStore, 'noteChecked' | 'writeEnforced' | 'writeFailure' | 'recordPlace' | 'forget'>

function readsOf(sql: Sql): Reads {
  return {
    async read(databaseId) {
      const [row] = await sql<ReportRow[]>`
        select ${reportColumns(sql)} from enforcement_state s left join (${selectBound(sql)}) d on d.id = s.database_id
        where s.database_id = ${databaseId}`
      return row ? asReport(row) : untouched
    },

    async takeDue(auditEveryMs) {
      return await sql<DueDatabase[]>`
        insert into enforcement_state as s (database_id, state, reason, next_check_at)
        select d.id, 'Pending', ${untouched.reason}, now() + ${auditEveryMs} * interval '1 millisecond'
        from (${selectBound(sql)}) d where not exists (
          select from enforcement_state e where e.database_id = d.id and e.next_check_at > now())
        on conflict (database_id) do update set next_check_at = excluded.next_check_at where s.next_check_at <= now()
        returning database_id as id, case when s.state = 'Enforced' then s.last_change end as "lastChange"`
    },

    async readBeforeTurn(databaseId) {
      const read = () => sql<BeforeTurn[]>`
        select s.last_change as "lastChange", s.notes, d.binding
        from enforcement_state s join (${selectBound(sql)}) d on d.id = s.database_id where d.id = ${databaseId}`
      const [known] = await read()
      if (known) return known
      // A change finds the row from now on: the foreign key waits for changes under way, which have locked the
      // database.
      await sql`
        insert into enforcement_state (database_id, state, reason)
        select d.id, 'Pending', ${untouched.reason} from (${selectBound(sql)}) d where d.id = ${databaseId}
        on conflict (database_id) do nothing`
      const [row] = await read()
      return row ?? { lastChange: null, notes: [], binding: null }
    },

    async isMaskedPlace(databaseId, place) {
      const rows = await sql`select from masked_place where database_id = ${databaseId} and place = ${place}`
      return rows.length > 0
    },
  }
}

function writesOf(sql: Sql): Writes {
  const isBound = sql`exists (select from (${selectBound(sql)}) d where d.id = s.database_id)`
  return {
    async noteChecked(databaseId) {
      await sql`
        update enforcement_state set checked_at = now() where database_id = ${databaseId} and state = 'Enforced'`
    },

    async writeEnforced(databaseId, written) {
      const { auditEveryMs, lastChange, drifted } = written
      const drift = drifted ? 1 : 0
      const found = sql`notes = ${sql.json(written.notes)}::jsonb, drift_repairs = s.drift_repairs + ${drift}::int,
        last_drift_at = case when ${drift}::int > 0 then now() else s.last_drift_at end`
      // The number is compared in the row that is written, as a change that commits meanwhile left it.
      const [row] = await sql<ReportRow[]>`
        with s as (update enforcement_state as s set state = 'Enforced', reason = null, failures = 0, ${found},
          since = case when s.state = 'Enforced' then s.since else now() end, checked_at = now(), enforced_at = now(),
          next_check_at = now() + ${auditEveryMs} * interval '1 millisecond'
        where s.database_id = ${databaseId} and s.last_change = ${lastChange}::int8 and ${isBound} returning *)
        select ${reportColumns(sql)} from s join (${selectBound(sql)}) d on d.id = s.database_id`
      if (row) return asReport(row)
      // The turn of the later change may look at the tables of that change alone, and adds to these notes.
      await sql`
        update enforcement_state as s set ${found}
        where s.database_id = ${databaseId} and s.last_change <> ${lastChange}::int8`
      return undefined
    },

    async writeFailure(databaseId, state, reason, notes = null) {
      // Again after 1, 2, 4 … seconds, at most every half minute.
      const told = notes === null ? null : sql.json(notes)
      await sql`
        insert into enforcement_state as s (database_id, state, reason, notes, failures, next_check_at)
        select id, ${state}, ${reason}, coalesce(${told}::jsonb, '[]'), 1, now() + interval '1 second'
        from (${selectBound(sql)}) d where id = ${databaseId}
        on conflict (database_id) do update set state = excluded.state, reason = excluded.reason, checked_at = now(),
          since = case when s.state = excluded.state then s.since else now() end,
          notes = coalesce(${told}::jsonb, s.notes), failures = s.failures + 1,
          next_check_at = now() + least(30, power(2, least(s.failures, 10))) * interval '1 second'`
    },

    async recordPlace(databaseId, place) {
      if (place === null) await sql`delete from masked_place where database_id = ${databaseId}`
      else
        await sql`
          insert into masked_place as m (database_id, place)
          select id, ${place} from (${selectBound(sql)}) d where id = ${databaseId}
          on conflict (database_id) do update set place = excluded.place where m.place <> excluded.place`
    },

    async forget(databaseId) {
      await sql`delete from enforcement_state where database_id = ${databaseId}`
    },
  }
}

const reportColumns = (sql: Sql) => sql`
  s.state as turn, d.policy, s.since, s.reason, s.notes, s.checked_at as "checkedAt", s.enforced_at as "enforcedAt",
  s.drift_repairs as "driftRepairs", s.last_drift_at as "lastDriftAt"`

interface ReportRow extends Pick<EnforcementReport, 'reason' | 'notes' | 'driftRepairs'> {
  readonly turn: TurnState
  readonly policy: StatedPolicy | null
  readonly since: Date
  readonly checkedAt: Date
  readonly enforcedAt: Date | null
  readonly lastDriftAt: Date | null
}

function asReport({ turn, policy, ...row }: ReportRow): EnforcementReport {
  const state = policy ? judgeState(policy, turn) : 'NotBound'
  return {
    ...row,
    state,
    reason: stateReasons[state] ?? row.reason,
    since: row.since.toISOString(),
    checkedAt: row.checkedAt.toISOString(),
    enforcedAt: row.enforcedAt?.toISOString() ?? null,
    lastDriftAt: row.lastDriftAt?.toISOString() ?? null,
  }
}
