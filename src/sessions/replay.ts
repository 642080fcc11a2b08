import type { Database } from '../db/database.ts'
import type { Sql } from '../db/sql.ts'

/** The end of the primary's log at some time. */
export interface Mark {
  readonly lsn: string
  readonly system: string
  readonly timeline: number
}

/** The place to insert at: what was committed without waiting for the disk stands before it too. */
export async function readMark({ sql }: Database): Promise<Mark> {
  const [row] = await sql<{ lsn: string; system: string; file: string }[]>`
    select pg_current_wal_insert_lsn()::text as lsn, pg_walfile_name(pg_current_wal_insert_lsn()) as file,
      (select system_identifier::text from pg_control_system()) as system`
  if (!row) throw new Error('the server did not answer')
  return { lsn: row.lsn, system: row.system, timeline: Number.parseInt(row.file.slice(0, 8), 16) }
}

interface Position {
  /** It is of the primary's cluster. */
  readonly isSame: boolean
  readonly isStandby: boolean
  /** Its control file knows the primary's timeline: else it may follow a primary that was replaced. */
  readonly isCurrent: boolean
  /** When its postmaster started. */
  readonly started: string
  /** For each end of a log whether it has that; none, where it is not current. */
  readonly replayed: readonly boolean[]
}

export async function readPosition(
  sql: Sql,
  { system, timeline }: Mark,
  lsns: readonly string[],
): Promise<Position> {
  const [row] = await sql<Position[]>`
    with here as (
      select (select system_identifier::text from pg_control_system()) = ${system} as "isSame",
        pg_is_in_recovery() as "isStandby", extract(epoch from pg_postmaster_start_time())::text as started,
        coalesce(greatest((select timeline_id from pg_control_checkpoint()),
          (select min_recovery_end_timeline from pg_control_recovery())) >= ${timeline}::int, false) as "isCurrent"
    )
    select here.*, array(select coalesce("isCurrent" and lsn::pg_lsn <= case when "isStandby"
        then pg_last_wal_replay_lsn() else pg_current_wal_insert_lsn() end, false)
      from unnest(${lsns}::text[]) with ordinality as w(lsn, at) order by at) as replayed from here`
  if (!row) throw new Error('the server did not answer')
  return row
}
