import type { Note } from '../../../contracts/note.ts'
import type { Fragment } from '../../../db/query.ts'
import type { Sql } from '../../../db/sql.ts'
import {
  type EnforcementState,
  judgeState,
  type StatedPolicy,
  stateReasons,
  type TurnState,
} from '../../../kernel/enforcement-state.ts'
import { readPlace } from '../../read/guard.ts'
import { type DatabaseLock, storeRoles } from '../../read/judge-exempt.ts'

export interface Report {
  readonly state: EnforcementState
  /** Since when it is in this state. */
  readonly since: string | null
  readonly reason: string | null
  readonly notes: readonly Note[]
  readonly checkedAt: string | null
  readonly enforcedAt: string | null
  readonly driftRepairs: number
  readonly lastDriftAt: string | null
}

/**
 * A query for the bound databases (id, resource_id, key, binding, policy), which masking holds; part of larger statements
 * here.
 */
export type BoundDatabases = (sql: Sql) => Fragment

export interface Enforced {
  readonly notes: readonly Note[]
  readonly drifted: boolean
  readonly auditEveryMs: number
  readonly lastChange: number | null
}

export interface BeforeTurn {
  /** The number of the last change that is stored. Null: the database is not bound. */
  readonly lastChange: number | null
  readonly notes: readonly Note[]
  /** The version of the binding. Null: the database is not bound. */
  readonly binding: string | null
}

export interface DueDatabase {
  readonly id: string
  /** Of its policy; null: the last turn did not enforce that. */
  readonly lastChange: number | null
}

export type StateStore = ReturnType<typeof createStateStore>

/**
 * The reason that the trigger `note_policy_change` gives: a change was stored after the last turn that wrote a state
 * began.
 */
export const unenforcedChange = 'A change has not been enforced yet.'

const untouched: Report = {
  state: 'Pending',
  since: null,
  reason: 'The database has not been looked at yet.',
  notes: [],
  checkedAt: null,
  enforcedAt: null,
  driftRepairs: 0,
  lastDriftAt: null,
}

/** The state of each bound database, in the service's own database, for every node. */
export function createStateStore(sql: Sql, bound: BoundDatabases, lock: DatabaseLock) {
  return {
    exemptRolesOf: (databaseId: string) => storeRoles(sql, databaseId, lock),
    ...readsOf(sql, bound),
    ...writesOf(sql, bound),
  }
}

const selectIsBound = (sql: Sql, bound: BoundDatabases) =>
  sql`exists (select from (${bound(sql)}) d where d.id = s.database_id)`

function readsOf(sql: Sql, bound: BoundDatabases) {
  return {
    /** The roles, by OID, that the exempt lists of other bound databases of a server name. */
    async readExemptElsewhere(server: Sql, databaseId: string): Promise<ReadonlySet<number>> {
      const [system = ''] = (await readPlace(server)).split('/')
      const rows = await sql<{ oid: number }[]>`
        select e.role_oid as oid from exempt_role e join (${bound(sql)}) d on d.id = e.database_id
        where pg_catalog.starts_with(e.place, ${`${system}/`}) and e.database_id <> ${databaseId}
          and e.role_oid is not null`
      return new Set(rows.map(({ oid }) => oid))
    },

    async read(databaseId: string): Promise<Report> {
      const [row] = await sql<ReportRow[]>`
        select ${reportColumns(sql)} from enforcement_state s left join (${bound(sql)}) d on d.id = s.database_id
        where s.database_id = ${databaseId}`
      return row ? asReport(row) : untouched
    },

    /** Bound databases whose next look is due, put off for the others by so long. */
    async takeDue(auditEveryMs: number): Promise<readonly DueDatabase[]> {
      return await sql<DueDatabase[]>`
        insert into enforcement_state as s (database_id, state, reason, next_check_at)
        select d.id, 'Pending', ${untouched.reason}, now() + ${auditEveryMs} * interval '1 millisecond'
        from (${bound(sql)}) d where not exists (
          select from enforcement_state e where e.database_id = d.id and e.next_check_at > now())
        on conflict (database_id) do update set next_check_at = excluded.next_check_at where s.next_check_at <= now()
        returning database_id as id, case when s.state = 'Enforced' then s.last_change end as "lastChange"`
    },

    /** To be read before anything that a turn enforces. */
    async readBeforeTurn(databaseId: string): Promise<BeforeTurn> {
      const read = () => sql<BeforeTurn[]>`
        select s.last_change as "lastChange", s.notes, d.binding
        from enforcement_state s join (${bound(sql)}) d on d.id = s.database_id where d.id = ${databaseId}`
      const [known] = await read()
      if (known) return known
      // A change finds the row from now on: the foreign key waits for changes under way, which have locked the
      // database.
      await sql`
        insert into enforcement_state (database_id, state, reason)
        select d.id, 'Pending', ${untouched.reason} from (${bound(sql)}) d where d.id = ${databaseId}
        on conflict (database_id) do nothing`
      const [row] = await read()
      return row ?? { lastChange: null, notes: [], binding: null }
    },

    async isMaskedPlace(databaseId: string, place: string): Promise<boolean> {
      const rows = await sql`select from masked_place where database_id = ${databaseId} and place = ${place}`
      return rows.length > 0
    },
  }
}

function writesOf(sql: Sql, bound: BoundDatabases) {
  const isBound = selectIsBound(sql, bound)
  return {
    /** The database was looked at, and is as it was. */
    async noteChecked(databaseId: string): Promise<void> {
      await sql`
        update enforcement_state set checked_at = now() where database_id = ${databaseId} and state = 'Enforced'`
    },

    /**
     * Returns the state afterwards; undefined: the database is not bound any more, or a change was stored since
     * `lastChange`.
     */
    async writeEnforced(databaseId: string, written: Enforced): Promise<Report | undefined> {
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
        select ${reportColumns(sql)} from s join (${bound(sql)}) d on d.id = s.database_id`
      if (row) return asReport(row)
      // The turn of the later change may look at the tables of that change alone, and adds to these notes.
      await sql`
        update enforcement_state as s set ${found}
        where s.database_id = ${databaseId} and s.last_change <> ${lastChange}::int8`
      return undefined
    },

    /** Without `notes` these stay as they are. */
    async writeFailure(
      databaseId: string,
      state: 'Pending' | 'Failed',
      reason: string,
      notes: readonly Note[] | null = null,
    ): Promise<void> {
      // Again after 1, 2, 4 … seconds, at most every half minute.
      const told = notes === null ? null : sql.json(notes)
      await sql`
        insert into enforcement_state as s (database_id, state, reason, notes, failures, next_check_at)
        select id, ${state}, ${reason}, coalesce(${told}::jsonb, '[]'), 1, now() + interval '1 second'
        from (${bound(sql)}) d where id = ${databaseId}
        on conflict (database_id) do update set state = excluded.state, reason = excluded.reason, checked_at = now(),
          since = case when s.state = excluded.state then s.since else now() end,
          notes = coalesce(${told}::jsonb, s.notes), failures = s.failures + 1,
          next_check_at = now() + least(30, power(2, least(s.failures, 10))) * interval '1 second'`
    },

    /** Where the masks of the database are; null: it has none. */
    async recordPlace(databaseId: string, place: string | null): Promise<void> {
      if (place === null) await sql`delete from masked_place where database_id = ${databaseId}`
      else
        await sql`
          insert into masked_place as m (database_id, place)
          select id, ${place} from (${bound(sql)}) d where id = ${databaseId}
          on conflict (database_id) do update set place = excluded.place where m.place <> excluded.place`
    },

    async forget(databaseId: string): Promise<void> {
      await sql`delete from enforcement_state where database_id = ${databaseId}`
    },
  }
}

const reportColumns = (sql: Sql) => sql`
  s.state as turn, d.policy, s.since, s.reason, s.notes, s.checked_at as "checkedAt", s.enforced_at as "enforcedAt",
  s.drift_repairs as "driftRepairs", s.last_drift_at as "lastDriftAt"`

interface ReportRow extends Pick<Report, 'reason' | 'notes' | 'driftRepairs'> {
  readonly turn: TurnState
  readonly policy: StatedPolicy | null
  readonly since: Date
  readonly checkedAt: Date
  readonly enforcedAt: Date | null
  readonly lastDriftAt: Date | null
}

function asReport({ turn, policy, ...row }: ReportRow): Report {
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
