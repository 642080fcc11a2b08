import type { Database } from '../../db/database.ts'
import type { Sql } from '../../db/sql.ts'
import { silence } from '../awaited-answers.ts'
import type { AskedServer, Mark } from '../read-replay.ts'
import { endSession, endSessionOf } from '../sessions/signal-session.ts'
import { findStarting, outwait, type Starting } from '../sessions/starting.ts'
import { endAsRoles } from './end-as-roles.ts'
import { type DueSession, KnownServer, type SeenLoss, type ServerLook } from './known-server.ts'
import type { LeftLogin } from './ports.ts'

/** Why sessions of login roles may go on at a server. Numbers: process ids of those that do. */
type Fault = 'behind' | 'silent' | 'unasked' | readonly number[]

/** A login role, and those of its sessions that are to end. */
type Due = readonly [LeftLogin, readonly DueSession[]]

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
  { database, answers }: AskedServer,
  primary: Mark,
  logins: readonly LeftLogin[],
  known = new KnownServer(),
): Promise<Fault | undefined> {
  const until = performance.now() + waitMs
  try {
    for (;;) {
      const seen = await answers.ask(() => look(database.sql, primary, logins))
      if (seen === silence) return 'silent'
      if (seen === 'foreign') return undefined
      const losses = known.recall(seen)
      const late = logins.filter((_, at) => !seen.replayed[at])
      for (const { oid } of late) losses.delete(oid)
      const ready = logins.filter((login) => !late.includes(login))
      const end = async () => {
        if (late.length > 0) await endShown(database.sql, late.map(oidOf))
        return await endReplayed(database, losses, ready, primary)
      }
      const open = await answers.ask(end, endingMs)
      if (open === silence) return 'silent'
      if (late.length === 0) return open.length > 0 ? open : undefined
      if (performance.now() > until) return 'behind'
      await pause()
    }
  } catch {
    return 'unasked'
  }
}

/** Ends the sessions of before the replay alone. Returns the process ids of those that go on. */
async function endReplayed(
  database: Database,
  losses: Map<number, SeenLoss>,
  logins: readonly LeftLogin[],
  { timeline }: Mark,
): Promise<readonly number[]> {
  const lossOf = ({ left }: LeftLogin) => `${left} ${timeline}`
  // Read at once: another turn may be at it too, with losses of its own.
  const before = new Map(
    logins.flatMap((login) => {
      const seen = losses.get(login.oid)
      return seen?.loss === lossOf(login) ? [[login, seen.due] as const] : []
    }),
  )
  const fresh = logins.filter((login) => !before.has(login))
  const found = fresh.length > 0 ? await endAll(database, fresh.map(oidOf)) : []
  const due = logins.map((login): Due => {
    const own = found.filter(({ role = login.oid }) => role === login.oid)
    return [login, before.get(login) ?? own]
  })
  const left = await waitUntilEnded(database.sql, due)
  for (const [login, sessions] of left) losses.set(login.oid, { loss: lossOf(login), due: sessions })
  return [...new Set(left.flatMap(([, sessions]) => sessions.map(({ pid }) => pid)))]
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

/**
 * `replayed`: for each loss whether the server shows it. The primary by another name of its host has replayed what it wrote. One that
 * was replaced is of an earlier timeline.
 */
async function look(
  sql: Sql,
  { system, timeline }: Mark,
  logins: readonly LeftLogin[],
): Promise<'foreign' | (ServerLook & { readonly replayed: readonly boolean[] })> {
  const [row] = await sql<(ServerLook & { isSame: boolean; replayed: boolean[] })[]>`
    select (select system_identifier::text from pg_control_system()) = ${system} as "isSame",
      extract(epoch from pg_postmaster_start_time())::text as started,
      array(select pid::int4 from pg_catalog.pg_stat_activity where usesysid is null) as processes,
      array(select coalesce(greatest((select timeline_id from pg_control_checkpoint()),
          (select min_recovery_end_timeline from pg_control_recovery())) >= ${timeline}::int
        and lsn::pg_lsn <= case when pg_is_in_recovery() then pg_last_wal_replay_lsn()
          else pg_current_wal_insert_lsn() end, false)
        from unnest(${logins.map(({ left }) => left)}::text[]) with ordinality as w(lsn, at) order by at) as replayed`
  if (!row) throw new Error('the server did not answer')
  return row.isSame ? row : 'foreign'
}

/** Ends the sessions of now, those that PostgreSQL is starting included, and returns them. */
async function endAll(database: Database, oids: readonly number[]): Promise<DueSession[]> {
  const { sql } = database
  const starting = await outwait(sql, await findStarting(sql, 'everywhere'), 'everywhere', startMs)
  const shown = await endShown(sql, oids)
  return [...shown, ...(starting.length > 0 ? await endStarting(database, oids, starting) : [])]
}

/** Those of the login roles. Where PostgreSQL does not tell, all that their clients have delayed. Returns those that were to end. */
async function endStarting(
  database: Database,
  oids: readonly number[],
  starting: readonly Starting[],
): Promise<readonly Starting[]> {
  const ended = await endAsRoles(
    database,
    oids,
    starting.map(({ pid }) => pid),
  )
  if (ended) return starting.filter(({ pid }) => ended.includes(pid))
  for (const { pid } of starting) await endSession(database.sql, pid)
  return starting
}

/** Waits a moment for the end of sessions that are due. Returns those that go on. */
async function waitUntilEnded(sql: Sql, due: readonly Due[]): Promise<readonly Due[]> {
  const until = performance.now() + waitMs
  for (let left = due; ; await pause()) {
    const pids = left.flatMap(([, sessions]) => sessions.map(({ pid }) => pid))
    if (pids.length === 0 || performance.now() > until) return left
    // Before those that show their role: one becomes the other.
    const starting = await findStarting(sql, 'everywhere')
    const oids = due.map(([{ oid }]) => oid)
    const shown = await endShown(sql, oids, pids)
    const isOpen = (oid: number, { pid, transaction }: DueSession) =>
      shown.some((one) => one.pid === pid && one.role === oid) ||
      starting.some((one) => one.pid === pid && one.transaction === transaction)
    left = left.map(([login, sessions]) => [login, sessions.filter((session) => isOpen(login.oid, session))])
  }
}

/** Those that show their role. Returns all of them. */
async function endShown(
  sql: Sql,
  oids: readonly number[],
  among: readonly number[] | 'elsewhere' | 'everywhere' = 'everywhere',
): Promise<Required<Pick<DueSession, 'pid' | 'role'>>[]> {
  const within = Array.isArray(among) ? sql`and pid = any(${among}::int4[])` : sql``
  const sessions = await sql<{ pid: number; role: number }[]>`
    select pid::int4 as pid, usesysid::int8 as role from pg_catalog.pg_stat_activity
    where usesysid = any(${oids}::int8[]::oid[]) ${within} ${among === 'elsewhere' ? sql`and datname <> pg_catalog.current_database()` : sql``}`
  for (const session of sessions) await endSessionOf(sql, { ...session, name: '', start: null })
  return sessions
}

const oidOf = ({ oid }: LeftLogin) => oid

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
