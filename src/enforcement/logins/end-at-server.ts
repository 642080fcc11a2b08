import type { Sql } from '../../db/sql.ts'
import { silence } from '../awaited-answers.ts'
import type { AskedServer, Mark } from '../read-replay.ts'
import { endSession, endSessionOf } from '../sessions/signal-session.ts'
import { findStarting, outwait } from '../sessions/starting.ts'
import type { LeftLogin } from './ports.ts'

/** Why sessions of login roles may go on at a server. Numbers: process ids of those that do. */
type Fault = 'behind' | 'silent' | 'unasked' | readonly number[]

const waitMs = 2_000
const pauseMs = 50
/** What starts for longer was delayed by its client. */
const startMs = 1_000
/** Sessions that PostgreSQL is starting are waited for. */
const endingMs = 5_000

/**
 * Ends the sessions of login roles that lost something at another server of the cluster than the primary, in whatever database.
 * A session that begins there before the loss is replayed has what was lost: those of after the replay alone may stay. Undefined:
 * none is left, or the server is one of another cluster, where the OIDs are those of other roles.
 */
export async function endAtServer(
  { database: { sql }, answers }: AskedServer,
  primary: Mark,
  logins: readonly LeftLogin[],
): Promise<Fault | undefined> {
  const oids = logins.map(({ oid }) => oid)
  const lsns = logins.map(({ left }) => left)
  const until = performance.now() + waitMs
  try {
    for (;;) {
      const seen = await answers.ask(() => look(sql, primary, lsns))
      if (seen === silence) return 'silent'
      if (seen === 'foreign') return undefined
      const open = await answers.ask(
        () => (seen === 'replayed' ? endAll(sql, oids) : endShown(sql, oids)),
        endingMs,
      )
      if (open === silence) return 'silent'
      if (seen === 'replayed') return open.length > 0 ? open : undefined
      if (performance.now() > until) return 'behind'
      await pause()
    }
  } catch {
    return 'unasked'
  }
}

/** A login role has nothing to do in other databases than its own. Nothing depends on it: a server that cannot be asked is left out. */
export async function endStraysAt(
  { database: { sql }, answers }: AskedServer,
  primary: Mark,
  oids: readonly number[],
): Promise<void> {
  const end = async () => {
    if ((await look(sql, primary, [])) !== 'foreign') await endShown(sql, oids, 'elsewhere')
  }
  await answers.ask(end).catch(() => {})
}

/** The primary by another name of its host has replayed what it wrote. One that was replaced is of an earlier timeline. */
async function look(
  sql: Sql,
  { system, timeline }: Mark,
  lsns: readonly string[],
): Promise<'foreign' | 'behind' | 'replayed'> {
  const [row] = await sql<{ isSame: boolean; isReplayed: boolean }[]>`
    select (select system_identifier::text from pg_control_system()) = ${system} as "isSame",
      coalesce(greatest((select timeline_id from pg_control_checkpoint()),
          (select min_recovery_end_timeline from pg_control_recovery())) >= ${timeline}::int
        and (select bool_and(lsn::pg_lsn <= case when pg_is_in_recovery() then pg_last_wal_replay_lsn()
          else pg_current_wal_insert_lsn() end) from unnest(${lsns}::text[]) lsn), false) as "isReplayed"`
  if (row && !row.isSame) return 'foreign'
  return row?.isReplayed ? 'replayed' : 'behind'
}

/**
 * Ends the sessions of now, and waits a moment for their end. One that PostgreSQL is starting does not show its role: it ends with them where
 * its client delays the start. Returns those that go on.
 */
async function endAll(sql: Sql, oids: readonly number[]): Promise<number[]> {
  const starting = await outwait(sql, await findStarting(sql, 'everywhere'), 'everywhere', startMs)
  const shown = await endShown(sql, oids)
  for (const { pid } of starting) await endSession(sql, pid)
  const due = [...shown, ...starting.map(({ pid }) => pid)]
  const until = performance.now() + waitMs
  for (let open = due; ; await pause()) {
    if (open.length === 0 || performance.now() > until) return open
    const still = await findStarting(sql, 'everywhere')
    const delayed = starting.filter((one) =>
      still.some(({ pid, transaction }) => pid === one.pid && transaction === one.transaction),
    )
    open = [...(await endShown(sql, oids, due)), ...delayed.map(({ pid }) => pid)]
  }
}

/** Those that show their role. Returns the process ids of all of them. */
async function endShown(
  sql: Sql,
  oids: readonly number[],
  among: readonly number[] | 'elsewhere' | 'everywhere' = 'everywhere',
): Promise<number[]> {
  const within = Array.isArray(among) ? sql`and pid = any(${among}::int4[])` : sql``
  const sessions = await sql<{ pid: number; role: number }[]>`
    select pid::int4 as pid, usesysid::int8 as role from pg_catalog.pg_stat_activity
    where usesysid = any(${oids}::int8[]::oid[]) ${within} ${among === 'elsewhere' ? sql`and datname <> pg_catalog.current_database()` : sql``}`
  for (const session of sessions) await endSessionOf(sql, { ...session, name: '', start: null })
  return sessions.map(({ pid }) => pid)
}

/** For the reason of the state. */
export function describeFault(name: string, fault: Fault): string {
  const sessions = 'sessions of login roles that lost rights'
  if (fault === 'behind')
    return `The standby ${name} has not replayed that login roles lost rights, and sessions of them may go on there.`
  if (fault === 'silent' || fault === 'unasked') {
    const how = fault === 'silent' ? 'does not answer' : 'cannot be asked'
    return `The standby ${name} ${how}, and ${sessions} may go on there. Where it is not in service any more, remove it from the hosts of the binding.`
  }
  const ends = fault.slice(0, 10).map((pid) => `pg_terminate_backend(${pid})`)
  return `At the standby ${name} ${sessions} go on. The role of the binding ends them as a member of pg_signal_backend; or run there: SELECT ${ends.join(', ')}.`
}

function pause(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, pauseMs))
}
