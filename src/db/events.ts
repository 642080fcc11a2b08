import type { Logger } from 'pino'
import type { DatabaseAddress } from './database-url.ts'
import { type Listening, listenTo } from './listen.ts'
import type { Query } from './query.ts'

/** Handlers for the notifications that the service's own database sends to every node (`tell_of_…` in `sql/schema.sql`). */
export interface Hearers {
  masks(databaseId: string): void
  directory(): void
  /** A token, permission, account or sign-in was revoked, or may have been unheard. */
  revocations(): void
  /** A node was asked to cancel a statement of a session that it does not have. */
  cancel(digest: string): void
  /** Notifications may have been missed: everything may be different. */
  restored(): void
  /** The database cannot be listened to. */
  failed(error: unknown): void
}

const channels = {
  masks: 'masquerade_masks',
  directory: 'masquerade_directory',
  revocations: 'masquerade_revocations',
  cancel: 'masquerade_cancel',
} as const
const retryMs = 1_000

/** Listens for changes by other nodes while the service runs. Callers must not rely on it alone: connections break. */
export function hearEvents(
  address: DatabaseAddress,
  hearers: Hearers,
  log: Logger,
): { close(): Promise<void> } {
  let listening: Listening | undefined
  let timer: NodeJS.Timeout | undefined
  let closed = false
  let isLogged = false

  const retry = () => {
    if (!closed) timer = setTimeout(() => void connect(), retryMs).unref()
  }
  async function connect(): Promise<void> {
    try {
      const opened = await listenTo(address, Object.values(channels), {
        onNotification(channel, payload) {
          if (channel === channels.masks) hearers.masks(payload)
          else if (channel === channels.revocations) hearers.revocations()
          else if (channel === channels.cancel) hearers.cancel(payload)
          else hearers.directory()
        },
        onLost: retry,
      })
      if (closed) return void (await opened.close())
      listening = opened
      isLogged = false
      hearers.revocations()
      hearers.restored()
    } catch (err) {
      hearers.failed(err)
      if (!isLogged) log.warn({ err }, 'changes of other nodes are not heard at once; they are looked for')
      isLogged = true
      retry()
    }
  }
  const first = connect()

  return {
    async close() {
      closed = true
      clearTimeout(timer)
      await first
      await listening?.close()
    },
  }
}

/** Requests to cancel that this node passes on in a second: strangers can send them, and each is a write of the store. */
const cancelsPerSecond = 20

/** Tells the other nodes of a request to cancel. Too many of them are dropped, as PostgreSQL promises nothing either. */
export function createCancelNotice(sql: Query): (digest: string) => Promise<void> {
  let [second, count] = [0, 0]
  return async (digest) => {
    const present = Math.floor(performance.now() / 1000)
    if (present !== second) [second, count] = [present, 0]
    if (++count <= cancelsPerSecond) await sql`select pg_notify(${channels.cancel}, ${digest})`
  }
}
