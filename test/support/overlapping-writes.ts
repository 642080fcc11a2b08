import assert from 'node:assert/strict'
import pg from 'pg'
import { advisoryLocks } from '../../src/db/advisory-locks.ts'
import type { TestService } from './service.ts'
import { waitUntil } from './wait-until.ts'

export interface Outcome {
  readonly status: number
  readonly text: string
}
export type Write = () => Promise<Outcome>

type Service = Pick<TestService, 'databaseUrl' | 'tokens'>

/**
 * Sends one write and then another, while a third session keeps both from writing their audit entries: each has done all else
 * by then, unless it waits for the other one.
 */
export async function overlap(
  service: Service,
  first: Write,
  second: Write,
): Promise<readonly [Outcome, Outcome]> {
  const hold = 'lock table masquerade.audit_event in share mode'
  const [one, other] = await sendInTurn(service, hold, [first, second])
  assert.ok(one && other)
  return [one, other]
}

/** Sends the writes one after the other, each when the one before it waits for the lock of rights. None may deadlock. */
export function queueForRights(service: Service, ...writes: readonly Write[]): Promise<readonly Outcome[]> {
  const hold = `select pg_advisory_xact_lock(${advisoryLocks.rights})`
  return sendInTurn(service, hold, writes, untilLooked)
}

/** The same for writes that wait for locks of objects. */
export function queueForObjects(
  service: Service,
  ids: readonly string[],
  ...writes: readonly Write[]
): Promise<readonly Outcome[]> {
  const list = ids.map((id) => `'${id}'`).join()
  const hold = `select from masquerade.directory_object where id in (${list}) for update`
  return sendInTurn(service, hold, writes, untilLooked)
}

/** The same, where the first write is one of those that `lockCallerUntilCommit` counts for the caller. */
export function queueForLimits(
  service: Service,
  callerId: string,
  ...writes: readonly Write[]
): Promise<readonly Outcome[]> {
  const hold = `select pg_advisory_xact_lock(hashtextextended('${callerId}', ${advisoryLocks.limits}))`
  return sendInTurn(service, hold, writes, untilLooked)
}

/** Each session looks for a deadlock once in its wait: one that comes when all have looked lasts until it can be seen. */
const untilLooked = `select pg_sleep(extract(epoch from current_setting('deadlock_timeout')::interval) + 0.2)`

async function sendInTurn(
  { databaseUrl, tokens }: Service,
  hold: string,
  writes: readonly Write[],
  beforeRelease = 'select',
): Promise<Outcome[]> {
  await tokens.settled()
  const [holder, reader] = [new pg.Client(databaseUrl), new pg.Client(databaseUrl)]
  await Promise.all([holder.connect(), reader.connect()])
  try {
    await holder.query('begin')
    await holder.query(hold)
    const begun: Promise<Outcome>[] = []
    for (const write of writes) {
      begun.push(write())
      await waitUntil(`${begun.length} writes wait`, async () => (await countWaiting(reader)) >= begun.length)
    }
    await holder.query(beforeRelease)
    await holder.query('rollback')
    const answered = Promise.all(begun)
    await refuseDeadlock(reader, answered)
    return await answered
  } finally {
    await Promise.all([holder.end(), reader.end()])
  }
}

/** The service's own work may wait too, but by no statement like these. */
async function countWaiting(reader: pg.Client): Promise<number> {
  const { rowCount } = await reader.query(
    `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'
      and query like any (array['%into masquerade.audit_event %', '%pg_advisory_xact_lock%', '%directory_object%for update',
        '%directory_object%for no key update', '%directory_object%for key share', '%update directory_object%', '%insert into server %', '%user_password%'])`,
  )
  return rowCount ?? 0
}

/** Looks until the writes are answered: PostgreSQL takes a second to break a deadlock, and the service then begins again. */
async function refuseDeadlock(reader: pg.Client, answered: Promise<unknown>): Promise<void> {
  let isAnswered = false
  const end = () => {
    isAnswered = true
  }
  void answered.then(end, end)
  let [inARow, most] = [0, 0]
  await waitUntil(
    'the writes are answered',
    async () => {
      const { rowCount } = await reader.query(
        `with recursive edge as materialized (
          select pid, unnest(pg_blocking_pids(pid)) as blocker from pg_stat_activity where datname = current_database()
        ), path as (
          select pid, blocker from edge union select path.pid, edge.blocker from path join edge on edge.pid = path.blocker
        ) select from path where pid = blocker`,
      )
      inARow = rowCount === 0 ? 0 : inARow + 1
      most = Math.max(most, inARow)
      return isAnswered
    },
    { withinMs: 60_000 },
  )
  // Once may be a mistake: the sessions are not looked at in one moment.
  assert.ok(most < 2, 'the writes wait for each other')
}
