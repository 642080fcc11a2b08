import type pg from 'pg'
import type { DatabaseAddress, Place } from './database-url.ts'
import { connectionOf, driverOptions, readServer, type ServerState } from './driver-options.ts'
import { choiceOf } from './host-choice.ts'

const everyMs = 1_000
/** Of a bound database, the other hosts are looked at once in so many seconds: there may be hundreds of these. */
const foreignTurns = 5
/** A server that takes longer than this for a row of its own is given up. */
const answerMs = 3_000

/**
 * Watches the primary of several hosts: asks the present one every second, and looks among the others for one of a later
 * timeline. A primary that stops answering, or was replaced, loses its connections: it could answer with what was true.
 * `foreignOptions` returns the settings that sessions in a bound database begin with: those of the database do not count.
 */
export function watchPrimary(
  address: DatabaseAddress,
  foreignOptions?: () => string | undefined,
): { close(): Promise<void> } {
  const hosts = choiceOf(address)
  let client: pg.Client | undefined
  let isClosed = false
  let turn = 0
  let rounds = 0

  const beat = async () => {
    const askedAt = performance.now()
    const opened = client ?? (await open(address, foreignOptions?.()))
    client = opened
    const place = connectionOf(opened)?.place ?? hosts.present
    try {
      await within(answerMs, readServer(opened, false))
      hosts.beat(place, askedAt)
    } catch {
      client = undefined
      void opened.end().catch(() => {})
      if (!isClosed) hosts.distrust(place)
    }
  }
  const lookElsewhere = async () => {
    if (foreignOptions && rounds++ % foreignTurns > 0) return
    const place = hosts.others[turn++ % hosts.others.length]
    const seen = place && (await readServerAt(address, place, foreignOptions?.()))
    if (!seen || !hosts.recognizes(place, seen.system, false)) return
    if (seen.timeline) hosts.raise(seen.timeline, place)
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

async function open(address: DatabaseAddress, settings?: string): Promise<pg.Client> {
  const client = createClient(address, settings)
  await client.connect()
  return client
}

/** Undefined: none answers there. */
async function readServerAt(
  address: DatabaseAddress,
  place: Place,
  settings?: string,
): Promise<ServerState | undefined> {
  const client = createClient({ ...address, ...place, others: [] }, settings)
  try {
    await client.connect()
    return await within(answerMs, readServer(client, choiceOf(address).asksSystem))
  } catch {
    return undefined
  } finally {
    void client.end().catch(() => {})
  }
}

function createClient(address: DatabaseAddress, settings: string | undefined): pg.Client {
  const { Client, ...options } = driverOptions(address)
  return new Client({
    ...options,
    application_name: 'masquerade hosts',
    connectionTimeoutMillis: answerMs,
    ...(settings !== undefined && { options: settings, statement_timeout: answerMs }),
  })
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
