import type { Database } from '../../db/database.ts'
import type { Sql } from '../../db/sql.ts'
import { codeOf, sqlstate } from '../../kernel/sqlstate.ts'
import { findGuard } from '../read/find-guard.ts'
import { readMaskVersion } from '../read/mask-version.ts'
import { type AwaitedAnswers, silence } from './awaited-answers.ts'

/** The end of the primary's log at some time. */
export interface Mark {
  readonly lsn: string
  readonly system: string
  readonly timeline: number
}

/** A server that may be a standby. */
export interface AskedServer {
  readonly database: Database
  readonly answers: AwaitedAnswers
}

/** The place to insert at: what was committed without waiting for the disk stands before it too. */
export async function readMark({ sql }: Database): Promise<Mark> {
  const [row] = await sql<{ lsn: string; system: string; file: string }[]>`
    select pg_current_wal_insert_lsn()::text as lsn, pg_walfile_name(pg_current_wal_insert_lsn()) as file,
      (select system_identifier::text from pg_control_system()) as system`
  if (!row) throw new Error('the server did not answer')
  return { lsn: row.lsn, system: row.system, timeline: Number.parseInt(row.file.slice(0, 8), 16) }
}

/**
 * For each position whether the standby has replayed it. Undefined: it cannot be asked or does not answer, is no
 * standby, or one of another cluster. So is one whose control file does not know the primary's timeline yet: it may
 * follow a primary that was replaced.
 */
export async function askReplayed(
  { answers, database: { sql } }: AskedServer,
  { system, timeline }: Mark,
  lsns: readonly string[],
  waitMs?: number,
): Promise<readonly boolean[] | undefined> {
  const read = () => sql<{ isFollower: boolean; replayed: boolean[] }[]>`
    select pg_is_in_recovery() and (select system_identifier::text from pg_control_system()) = ${system}
        and greatest((select timeline_id from pg_control_checkpoint()),
          (select min_recovery_end_timeline from pg_control_recovery())) >= ${timeline}::int as "isFollower",
      array(select coalesce(pg_last_wal_replay_lsn() >= lsn::pg_lsn, false)
        from unnest(${lsns}::text[]) with ordinality as w(lsn, at) order by at) as replayed`
  const rows = await answers.ask(async () => await read(), waitMs).catch(() => [])
  const row = rows === silence ? undefined : rows[0]
  return row?.isFollower ? row.replayed : undefined
}

/**
 * Another text after every change of masks: a turn raises the epoch in the transaction of its change. Empty: there
 * are no records.
 */
export async function readLastChange(sql: Sql): Promise<string> {
  const schema = await findGuard(sql)
  if (schema === null) return ''
  const [row] = await sql<{ change: string }[]>`
    select concat_ws(' ', n.oid, coalesce(pg_catalog.to_jsonb(p) ->> 'epoch', '0')) as change
    from ${sql(schema)}.policy p, pg_catalog.pg_namespace n where n.nspname = ${schema}`.catch(
    (error: unknown) => {
      // The last mask was removed since.
      if (codeOf(error) === sqlstate.undefinedTable) return []
      throw error
    },
  )
  return row?.change ?? ''
}

/**
 * For each role a text that changes with the masks and exemptions of the database, with the role, and with its
 * memberships.
 */
export async function readStandings(
  { sql }: Pick<Database, 'sql'>,
  roles: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const version = await readMaskVersion(sql)
  const rows = await sql<{ role: string; standing: string }[]>`
    select r.rolname::text as role, concat_ws('/', r.oid, r.rolcanlogin, r.rolsuper, r.rolinherit,
      array(with recursive above (oid) as (
          select m.roleid from pg_catalog.pg_auth_members m where m.member = r.oid
          union select m.roleid from pg_catalog.pg_auth_members m join above on m.member = above.oid)
        select oid from above order by 1)) as standing
    from pg_catalog.pg_roles r where r.rolname = any(${roles}::text[]::name[])`
  return new Map(rows.map(({ role, standing }) => [role, `${standing} ${version}`]))
}
