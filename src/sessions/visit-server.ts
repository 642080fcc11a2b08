import type { Sql } from '../db/sql.ts'
import { endSessions } from './end-sessions.ts'
import type { FollowedServer } from './followed-server.ts'
import { type Mark, readPosition } from './replay.ts'

/** What a role lost: an exemption in the database, or rights of a login role, which it has everywhere. */
export interface Loss {
  readonly role: number
  /** A server that has replayed so far shows it. */
  readonly left: string
  readonly scope: 'here' | 'everywhere'
}

interface Task {
  /** The primary of now. */
  readonly mark: Mark
  /** A standby that has replayed so far has the masks of now. Null: it serves no sessions. */
  readonly change: string | null
  readonly losses: readonly Loss[]
}

interface Visit {
  /** Losses after which sessions may go on. */
  readonly left: readonly Loss[]
  readonly pending: readonly string[]
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
export async function visitServer(server: FollowedServer, task: Task): Promise<Visit> {
  const { name, open } = server
  const { mark, change, losses } = task
  if (losses.length === 0) open.clear()
  if (change === null && losses.length === 0) return { left: [], pending: [] }
  const ends = [change ?? mark.lsn, ...losses.map(({ left }) => left)]
  for (const until = performance.now() + replayWaitMs; ; await pause()) {
    const seen = await server.ask((sql) => readPosition(sql, mark, ends))
    if (!seen) return leave(name, losses, server.isSilent)
    // OIDs are those of other roles.
    if (!seen.isSame) return { left: [], pending: [] }
    const [hasMasks, ...has] = seen.replayed
    // One that is not current, or no standby, serves no sessions.
    const isBehind = change !== null && seen.isStandby && seen.isCurrent && !hasMasks
    const known = losses.map((one, at) => ({ ...one, key: keyOf(seen.started, one), isLate: !has[at] }))
    for (const { key, isLate } of known) if (isLate) open.delete(key)
    const pids = await server.ask(
      async (sql) => [
        ...(await endIn(sql, 'here', known, open)),
        ...(await endIn(sql, 'everywhere', known, open)),
      ],
      endingMs,
    )
    if (!pids) return leave(name, losses, server.isSilent)
    const isLate = known.some((one) => one.isLate)
    const lacks = isLate ? 'that roles lost rights' : isBehind && 'the last change of masks'
    if (!lacks || performance.now() > until)
      return {
        left: losses.filter((one) => open.get(keyOf(seen.started, one))?.length !== 0),
        pending: lacks ? [describeFault(name, `has not replayed ${lacks}`)] : describeOpen(name, pids),
      }
  }
}

const keyOf = (started: string, { role, left, scope }: Loss) => [started, role, left, scope].join(' ')

type KnownLoss = Loss & { readonly key: string; readonly isLate: boolean }

/** Returns the process ids of those that go on. */
async function endIn(
  sql: Sql,
  scope: Loss['scope'],
  losses: readonly KnownLoss[],
  open: FollowedServer['open'],
): Promise<readonly number[]> {
  const own = losses.filter((one) => one.scope === scope)
  const due = own.filter(({ key }) => !open.has(key))
  const sessions = own.flatMap(({ key }) => open.get(key) ?? [])
  const endsStarting = due.some(({ isLate }) => !isLate)
  const ended = await endSessions(sql, { roles: due.map(({ role }) => role), sessions, scope, endsStarting })
  for (const { key, role, isLate } of own)
    if (!isLate && (open.has(key) || ended.starting.length === 0))
      open.set(
        key,
        ended.open.filter((one) => one.role === role),
      )
  return [...ended.open.map(({ pid }) => pid), ...ended.starting]
}

/** One that cannot be asked serves no sessions of the gateway. Clients that connect to it are not in our hands. */
function leave(name: string, left: readonly Loss[], isSilent: boolean): Visit {
  const fault = isSilent ? 'does not answer, and may not have replayed the last change' : 'cannot be asked'
  return { left, pending: isSilent || left.length > 0 ? [describeFault(name, fault)] : [] }
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
    `At the standby ${name} sessions of roles that lost rights go on. ${way}; or run there: SELECT ${ends.join(', ')}.`,
  ]
}

const pause = () => new Promise((resolve) => setTimeout(resolve, pauseMs))
