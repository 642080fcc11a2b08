import type { Database } from '../db/database.ts'
import type { Sql } from '../db/sql.ts'
import { joinReasons } from '../kernel/join-reasons.ts'
import type { LeftLogin } from '../masks/control/login-port.ts'
import { type AskedServer, type Mark, readMark, readPosition, silence } from '../sessions/replay.ts'
import { endSession, endSessionOf } from '../sessions/signal-session.ts'
import { findStarting, outwait } from '../sessions/starting.ts'
import { findShown } from './end-sessions.ts'

/** Why sessions of login roles may go on at a server. Numbers: process ids of those that do. */
type Fault = 'behind' | 'silent' | 'unasked' | readonly number[]

const waitMs = 2_000
const pauseMs = 50
/** What starts for longer was delayed by its client. */
const startMs = 1_000
/** Sessions that PostgreSQL is starting are waited for. */
const endingMs = 5_000

/**
 * Ends sessions of login roles that lost something at the other servers of a binding. Returns why they may go on; empty:
 * they do not. `done`: losses after which they have ended at a server.
 */
export async function endAtServers(
  servers: Iterable<readonly [name: string, server: AskedServer]>,
  primary: Database,
  left: readonly LeftLogin[],
  done: Set<string>,
): Promise<string> {
  if (left.length === 0) return ''
  const mark = await readMark(primary)
  const faults = await Promise.all(
    [...servers].map(async ([name, server]) => {
      const fault = await endAtServer(name, server, mark, left, done)
      return fault === undefined ? [] : [describeFault(name, fault)]
    }),
  )
  return joinReasons(faults.flat())
}

/**
 * A session that begins before the loss is replayed has what was lost: those of after the replay alone may stay.
 * Undefined: none goes on, or the server is one of another cluster, where the OIDs are those of other roles.
 */
export async function endAtServer(
  name: string,
  server: AskedServer,
  primary: Mark,
  logins: readonly LeftLogin[],
  done: Set<string>,
): Promise<Fault | undefined> {
  const until = performance.now() + waitMs
  const losses = logins.map(({ left }) => left)
  try {
    for (;;) {
      const seen = await server.ask((sql) => readPosition(sql, primary, losses))
      if (seen === silence) return 'silent'
      if (!seen.isSame) return undefined
      const keyOf = ({ oid, left }: LeftLogin) => [name, seen.started, oid, left].join(' ')
      const late = logins.filter((_, at) => !seen.replayed[at])
      const ready = logins.filter((login) => !late.includes(login) && !done.has(keyOf(login)))
      const end = async (sql: Sql) => {
        await endShown(sql, late)
        return ready.length === 0 ? [] : await endAll(sql, ready)
      }
      const open = await server.ask(end, endingMs)
      if (open === silence) return 'silent'
      for (const login of late) done.delete(keyOf(login))
      if (open.length === 0) for (const login of ready) done.add(keyOf(login))
      if (late.length === 0) return open.length > 0 ? open : undefined
      if (performance.now() > until) return 'behind'
      await pause()
    }
  } catch {
    return 'unasked'
  }
}

/**
 * Ends the sessions of now, and all whose clients delay their start: PostgreSQL does not tell whose these are. Returns
 * the process ids of those that go on after a moment.
 */
async function endAll(sql: Sql, logins: readonly LeftLogin[]): Promise<readonly number[]> {
  const starting = await outwait(sql, await findStarting(sql, 'everywhere'), 'everywhere', startMs)
  let open = await endShown(sql, logins)
  for (const { pid } of starting) await endSession(sql, pid)
  for (const until = performance.now() + waitMs; ; await pause()) {
    const stillStarting = (await outwait(sql, starting, 'everywhere', pauseMs)).map(({ pid }) => pid)
    open = await endShown(sql, logins, [...open, ...starting.map(({ pid }) => pid)])
    if (open.length + stillStarting.length === 0 || performance.now() > until)
      return [...new Set([...open, ...stillStarting])]
  }
}

/** Returns the process ids of those that it found. */
async function endShown(
  sql: Sql,
  logins: readonly LeftLogin[],
  among: 'everywhere' | readonly number[] = 'everywhere',
): Promise<number[]> {
  if (logins.length === 0) return []
  const shown = await findShown(
    sql,
    logins.map(({ oid }) => oid),
    among,
  )
  for (const session of shown) await endSessionOf(sql, { ...session, name: '', start: null })
  return shown.map(({ pid }) => pid)
}

/** For the reason of the state. */
export function describeFault(name: string, fault: Fault): string {
  const standby = `The standby ${name}`
  const sessions = 'sessions of login roles that lost rights'
  if (fault === 'behind')
    return `${standby} has not replayed that login roles lost rights, and sessions of them may go on there.`
  if (fault === 'silent' || fault === 'unasked') {
    const how = fault === 'silent' ? 'does not answer' : 'cannot be asked'
    const advice = 'Where it is not in service any more, remove it from the hosts of the binding.'
    return `${standby} ${how}, and ${sessions} may go on there. ${advice}`
  }
  const ends = fault.slice(0, 10).map((pid) => `pg_terminate_backend(${pid})`)
  const way = 'The role of the binding ends them as a member of pg_signal_backend'
  return `At the standby ${name} ${sessions} go on. ${way}; or run there: SELECT ${ends.join(', ')}.`
}

function pause(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, pauseMs))
}
