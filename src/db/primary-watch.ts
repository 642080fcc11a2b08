import type pg from 'pg'
import type { DatabaseAddress, Place } from './database-url.ts'
import { connectionOf, driverOptions, readTimeline } from './driver-options.ts'
import { choiceOf } from './host-choice.ts'

const everyMs = 1_000
/** A server that takes longer than this for a row of its own is given up. */
const answerMs = 3_000

/**
 * Watches the primary of several hosts: asks the present one every second, and looks among the others for one of a later
 * timeline. A primary that stops answering, or was replaced, loses its connections: it could answer with what was true.
 */
export function watchPrimary(address: DatabaseAddress): { close(): Promise<void> } {
  const hosts = choiceOf(address)
  let client: pg.Client | undefined
  let isClosed = false
  let turn = 0

  const beat = async () => {
    const askedAt = performance.now()
    const opened = client ?? (await open(address))
    client = opened
    const place = connectionOf(opened)?.place ?? hosts.present
    try {
      await within(answerMs, readTimeline(opened))
      hosts.beat(place, askedAt)
    } catch {
      client = undefined
      void opened.end().catch(() => {})
      if (!isClosed) hosts.distrust(place)
    }
  }
  const lookElsewhere = async () => {
    const place = hosts.others[turn++ % hosts.others.length]
    const timeline = place && (await readTimelineAt(address, place))
    if (timeline) hosts.raise(timeline, place)
  }
  const tick = async () => {
    await Promise.allSettled([beat(), lookElsewhere()])
    // With jitter: the nodes of a service do not all ask at once after a failover.
    if (!isClosed) timer = setTimeout(next, everyMs * (0.75 + Math.random() / 2)).unref()
  }
  let running: Promise<void> = Promise.resolve()
  const next = () => {
    running = tick()
  }
  let timer = setTimeout(next, everyMs).unref()
  return {
    async close() {
      isClosed = true
      clearTimeout(timer)
      await client?.end().catch(() => {})
      await running
    },
  }
}

async function open(address: DatabaseAddress): Promise<pg.Client> {
  const { Client, ...options } = driverOptions(address)
  const client = new Client({
    ...options,
    application_name: 'masquerade hosts',
    connectionTimeoutMillis: answerMs,
  })
  await client.connect()
  return client
}

/** The timeline of a primary elsewhere; undefined: there is none. */
async function readTimelineAt(address: DatabaseAddress, place: Place): Promise<number | undefined> {
  const { Client, ...options } = driverOptions({ ...address, ...place, others: [] })
  const client = new Client({
    ...options,
    application_name: 'masquerade hosts',
    connectionTimeoutMillis: answerMs,
  })
  try {
    await client.connect()
    return (await within(answerMs, readTimeline(client))) ?? undefined
  } catch {
    return undefined
  } finally {
    void client.end().catch(() => {})
  }
}

async function within<T>(ms: number, promise: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error('no answer')), ms)
  })
  try {
    return await Promise.race([promise, late])
  } finally {
    clearTimeout(timer)
  }
}
