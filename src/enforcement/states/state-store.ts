import type { Fragment } from '../../db/query.ts'
import type { Sql } from '../../db/sql.ts'
import { createExemptRoleStore, type DatabaseLock, type ExemptRoleStore } from '../grants/settle-exempt.ts'
import { createKeptRecords, type KeptRecords } from '../guard/kept-records.ts'
import type { Note } from '../plan.ts'
import type { ExemptElsewhere } from '../preflight/exempt-elsewhere.ts'

export interface Report {
  readonly state: 'NotBound' | 'Enforced' | 'Observing' | 'Pending' | 'Failed'
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
 * A query for the bound databases (id, resource_id, key), which masking holds; part of larger statements here. `aim` is
 * the state that the policy asks for: `Enforced`, `Observing` or `Disabled`.
 */
export type BoundDatabases = (sql: Sql) => Fragment

export interface Enforced {
  /** Null leaves them as they are. */
  readonly notes: readonly Note[] | null
  readonly drifted: boolean
  readonly auditEveryMs: number
  readonly lastChange: number | null
  /** Null: no turn is too late. */
  readonly lastTurn: number | null
}

export interface BeforeTurn {
  /** The number of the last change that is stored. Null: the database is not bound. */
  readonly lastChange: number | null
  /** The last state tells of relations that are not masked, whichever node found them. */
  readonly hasUnmasked: boolean
}

/** The state of each bound database, in the service's own database, for every node. */
export interface StateStore {
  read(databaseId: string): Promise<Report>
  /** Bound databases whose next look is due, put off for the others by so long. */
  takeDue(auditEveryMs: number): Promise<string[]>
  /** To be read before anything that a turn enforces. */
  readBeforeTurn(databaseId: string): Promise<BeforeTurn>
  /**
   * Returns the state afterwards; undefined: the database is not bound any more, a change was stored since `lastChange`, or a turn of any
   * node has begun to change the database since the one with the epoch `lastTurn`.
   */
  writeEnforced(databaseId: string, written: Enforced): Promise<Report | undefined>
  /** Before a wait for what `reason` names: replaces `Enforced`, and no other state. */
  suspendEnforced(databaseId: string, reason: string): Promise<void>
  /** `notes`: null leaves them as they are. */
  writeFailure(
    databaseId: string,
    state: 'Pending' | 'Failed',
    reason: string,
    notes?: readonly Note[] | null,
  ): Promise<void>
  forget(databaseId: string): Promise<void>
  keptRecordsOf(databaseId: string): KeptRecords
  exemptRolesOf(databaseId: string): ExemptRoleStore
  /** The roles that the exempt lists of other bound databases name, of servers with this system identifier. */
  listExemptElsewhere(system: string, databaseId: string): Promise<readonly ExemptElsewhere[]>
}

/** The reason that the trigger `note_policy_change` gives: a change was stored after the last turn that wrote a state began. */
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

export function createStateStore(sql: Sql, bound: BoundDatabases, lock: DatabaseLock): StateStore {
  return {
    keptRecordsOf: (databaseId) => createKeptRecords(sql, databaseId),
    exemptRolesOf: (databaseId) => createExemptRoleStore(sql, databaseId, lock),

    async listExemptElsewhere(system, databaseId) {
      return await sql<ExemptElsewhere[]>`
        select case when not e.is_taken then e.entry end as name, e.role_oid as oid
        from exempt_role e join (${bound(sql)}) d on d.id = e.database_id
        where pg_catalog.starts_with(e.place, ${`${system}/`}) and e.database_id <> ${databaseId}`
    },

    async read(databaseId) {
      const [row] = await sql<ReportRow[]>`
        select ${reportColumns(sql)}
        from enforcement_state s left join (${bound(sql)}) d on d.id = database_id where database_id = ${databaseId}`
      return row ? asReport(row) : untouched
    },

    async takeDue(auditEveryMs) {
      const rows = await sql<{ id: string }[]>`
        insert into enforcement_state as s (database_id, state, reason, next_check_at)
        select d.id, 'Pending', ${untouched.reason}, now() + ${auditEveryMs} * interval '1 millisecond'
        from (${bound(sql)}) d where not exists (select 1 from enforcement_state e where e.database_id = d.id and e.next_check_at > now())
        on conflict (database_id) do update set next_check_at = excluded.next_check_at where s.next_check_at <= now()
        returning database_id as id`
      return rows.map(({ id }) => id)
    },

    async readBeforeTurn(databaseId) {
      const read = async () => {
        const [row] = await sql<BeforeTurn[]>`
          select s.last_change as "lastChange", s.notes @> ${sql.json([{ code: 'NotMasked' satisfies Note['code'] }])} as "hasUnmasked"
          from enforcement_state s join (${bound(sql)}) d on d.id = s.database_id
          where s.database_id = ${databaseId}`
        return row
      }
      const known = await read()
      if (known) return known
      // A change finds the row from now on: the foreign key waits for changes under way, which have locked the database.
      await sql`
        insert into enforcement_state (database_id, state, reason)
        select d.id, 'Pending', ${untouched.reason} from (${bound(sql)}) d where d.id = ${databaseId}
        on conflict (database_id) do nothing`
      return (await read()) ?? { lastChange: null, hasUnmasked: false }
    },

    async writeEnforced(databaseId, { notes, drifted, auditEveryMs, lastChange, lastTurn }) {
      const [told, drift] = [notes === null ? null : sql.json(notes), drifted ? 1 : 0]
      const found = sql`notes = coalesce(${told}::jsonb, s.notes), drift_repairs = s.drift_repairs + ${drift}::int,
        last_drift_at = case when ${drift}::int > 0 then now() else s.last_drift_at end`
      // The number is compared in the row that is written, as a change that commits meanwhile left it.
      const [row] = await sql<ReportRow[]>`
        with s as (update enforcement_state as s set state = 'Enforced', since = case when s.state = 'Enforced' then s.since else now() end,
          reason = null, checked_at = now(), enforced_at = now(), next_check_at = now() + ${auditEveryMs} * interval '1 millisecond',
          failures = 0, ${found}
        where s.database_id = ${databaseId} and s.last_change = ${lastChange}::int8
          and exists (select from (${bound(sql)}) d where d.id = s.database_id)
          and (${lastTurn}::int8 is null or ${lastTurn}::int8 = coalesce((
            select epoch from enforcement_lease where database_id = ${databaseId}), 0))
        returning *)
        select ${reportColumns(sql)} from s join (${bound(sql)}) d on d.id = database_id`
      if (row) return asReport(row)
      // The turn of the later change may look at the tables of that change alone, and adds to these notes.
      await sql`update enforcement_state as s set ${found} where s.database_id = ${databaseId} and s.last_change <> ${lastChange}::int8`
      return undefined
    },

    async suspendEnforced(databaseId, reason) {
      await sql`
        update enforcement_state set state = 'Pending', since = now(), reason = ${reason},
          next_check_at = least(next_check_at, now() + interval '5 seconds')
        where database_id = ${databaseId} and state = 'Enforced'`
    },

    async writeFailure(databaseId, state, reason, notes = null) {
      // Again after 1, 2, 4 … seconds, at most every half minute.
      const told = notes === null ? null : sql.json(notes)
      await sql`
        insert into enforcement_state as s (database_id, state, reason, notes, failures, next_check_at)
        select id, ${state}, ${reason}, coalesce(${told}::jsonb, '[]'), 1, now() + interval '1 second'
        from (${bound(sql)}) d where id = ${databaseId}
        on conflict (database_id) do update set state = excluded.state,
          since = case when s.state = excluded.state then s.since else now() end, reason = excluded.reason, checked_at = now(),
          notes = coalesce(${told}::jsonb, s.notes), failures = s.failures + 1,
          next_check_at = now() + least(30, power(2, least(s.failures, 10))) * interval '1 second'`
    },

    async forget(databaseId) {
      await sql`delete from enforcement_state where database_id = ${databaseId}`
    },
  }
}

const reportColumns = (sql: Sql) => sql`
  case when s.state = 'Enforced' and d.aim = 'Observing' then d.aim else s.state end as state, s.since, s.reason, s.notes,
  s.checked_at as "checkedAt", s.enforced_at as "enforcedAt", s.drift_repairs as "driftRepairs",
  s.last_drift_at as "lastDriftAt"`

type ReportRow = Omit<Report, keyof Dates> & Dates

function asReport({ since, checkedAt, enforcedAt, lastDriftAt, ...rest }: ReportRow): Report {
  return {
    ...rest,
    since: since.toISOString(),
    checkedAt: checkedAt.toISOString(),
    enforcedAt: enforcedAt?.toISOString() ?? null,
    lastDriftAt: lastDriftAt?.toISOString() ?? null,
  }
}

interface Dates {
  readonly since: Date
  readonly checkedAt: Date
  readonly enforcedAt: Date | null
  readonly lastDriftAt: Date | null
}
