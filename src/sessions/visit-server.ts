import type { Sql } from '../db/sql.ts'
import { endSessions } from './end-sessions.ts'
import { isRole, listed, type OpenEntry } from './open-sessions.ts'
import { type AskedServer, type Mark, readPosition } from './replay.ts'

/** A login role that lost something. */
export interface LostLogin {
  readonly oid: number
  /** A server that has replayed so far shows the loss. */
  readonly left: string
}

/** A server that a binding lists. */
export interface VisitedServer {
  /** `127.0.0.1:5432` */
  readonly name: string
  readonly server: AskedServer
  /** Losses after which sessions have ended there: later sessions have nothing that was lost. */
  readonly done: Set<string>
}

interface Task {
  /** The primary of now. */
  readonly mark: Mark
  /** A standby that has replayed so far has the masks of now. Null: it serves no sessions. */
  readonly change: string | null
  readonly open: readonly OpenEntry[]
  readonly logins: readonly LostLogin[]
}

interface Visit {
  readonly open: readonly OpenEntry[]
  readonly pending: readonly string[]
  readonly isOver: boolean
}

/** The next turn waits so long for a standby of this one. */
const replayWaitMs = 1_000
const pauseMs = 25
/** Sessions that PostgreSQL is starting are waited for. */
const endingMs = 5_000

/**
 * Ends, at one server, the sessions of roles that lost something, once it has replayed that: those that begin before
 * have what was lost. What ends sessions at the primary is not replayed. An open cursor may hold the replay up, so
 * sessions end all the time; those that start, after the replay alone: before, a slow server would lose them at each
 * turn, whatever their role.
 */
export async function visitServer({ name, server, done }: VisitedServer, task: Task): Promise<Visit> {
  const { mark, change, open, logins } = task
  if (logins.length === 0) done.clear()
  if (change === null && open.length + logins.length === 0) return { open, pending: [], isOver: true }
  const ends = [change ?? mark.lsn, ...logins.map(({ left }) => left)]
  for (const until = performance.now() + replayWaitMs; ; await pause()) {
    const seen = await server.ask((sql) => readPosition(sql, mark, ends))
    if (!seen) return leave(name, task, server.isSilent)
    // OIDs are those of other roles.
    if (!seen.isSame) return { open, pending: [], isOver: true }
    const [hasMasks, ...has] = seen.replayed
    // One that is not current, or no standby, serves no sessions.
    const isBehind = change !== null && seen.isStandby && seen.isCurrent && !hasMasks
    const keyOf = ({ oid, left }: LostLogin) => `${seen.started} ${oid} ${left}`
    const late = logins.filter((_, at) => !has[at])
    const ready = logins.filter((one, at) => has[at] && !done.has(keyOf(one)))
    const end = (sql: Sql) => Promise.all([endRaw(sql, open, isBehind), endLost(sql, late, ready)])
    const ended = await server.ask(end, endingMs)
    if (!ended) return leave(name, task, server.isSilent)
    const [raw, pids] = ended
    for (const login of late) done.delete(keyOf(login))
    if (pids.length === 0) for (const login of ready) done.add(keyOf(login))
    const lacks = late.length > 0 ? 'that login roles lost rights' : isBehind && 'the last change of masks'
    if (!lacks || performance.now() > until)
      return {
        open: raw.map((one) => ({ ...one, place: name })),
        pending: lacks ? [describeFault(name, `has not replayed ${lacks}`)] : describeOpen(name, pids),
        isOver: late.length + pids.length === 0,
      }
  }
}

/** Returns what is left to do. */
async function endRaw(
  sql: Sql,
  entries: readonly OpenEntry[],
  isBehind: boolean,
): Promise<readonly OpenEntry[]> {
  const roles = entries.filter(isRole)
  const { open } = await endSessions(sql, {
    roles: roles.map(({ role }) => role),
    ...{ sessions: entries.flatMap(listed), scope: 'here', endsStarting: !isBehind },
  })
  return [...(isBehind ? roles : []), ...open]
}

/** Returns the process ids of those that go on. */
async function endLost(
  sql: Sql,
  late: readonly LostLogin[],
  ready: readonly LostLogin[],
): Promise<readonly number[]> {
  const roles = [...late, ...ready].map(({ oid }) => oid)
  const { open, starting } = await endSessions(sql, {
    ...{ roles, scope: 'everywhere', endsStarting: ready.length > 0 },
  })
  return [...new Set([...open.map(({ pid }) => pid), ...starting])]
}

/** One that cannot be asked serves no sessions of the gateway. Clients that connect to it are not in our hands. */
function leave(name: string, { open, logins }: Task, isSilent: boolean): Visit {
  const fault = isSilent ? 'does not answer, and may not have replayed the last change' : 'cannot be asked'
  const pending = isSilent || logins.length > 0 ? [describeFault(name, fault)] : []
  return { open, pending, isOver: logins.length === 0 }
}

function describeFault(name: string, fault: string): string {
  const effect = 'Sessions there of roles that lost rights may go on.'
  const advice = 'Where it is not in service any more, remove it from the hosts of the binding.'
  return `The standby ${name} ${fault}. ${effect} ${advice}`
}

function describeOpen(name: string, pids: readonly number[]): string[] {
  if (pids.length === 0) return []
  const ends = pids.slice(0, 10).map((pid) => `pg_terminate_backend(${pid})`)
  const way = 'The role of the binding ends them as a member of pg_signal_backend'
  return [
    `At the standby ${name} sessions of login roles that lost rights go on. ${way}; or run there: SELECT ${ends.join(', ')}.`,
  ]
}

const pause = () => new Promise((resolve) => setTimeout(resolve, pauseMs))
