import type { DatabaseAddress } from './database-url.ts'
import { driverOptions } from './driver-options.ts'
import { quoteIdentifier } from './sql.ts'

export interface Listening {
  /** The connection is lost; nothing is heard any more. */
  readonly lost: boolean
  close(): Promise<void>
}

interface Ears {
  onNotification(channel: string, payload: string): void
  /** Once, also after `close`. */
  onLost?(): void
}

/** A connection of its own that hears what others notify. Rejects when the database cannot be reached. */
export async function listenTo(
  address: DatabaseAddress,
  channels: readonly string[],
  { onNotification, onLost }: Ears,
): Promise<Listening> {
  const { Client, ...options } = driverOptions(address)
  const client = new Client({
    ...options,
    application_name: 'masquerade watch',
    connectionTimeoutMillis: 5_000,
    keepAlive: true,
  })
  let lost = false
  let isListening = false
  const lose = () => {
    if (lost) return
    lost = true
    if (isListening) onLost?.()
  }
  client.on('error', lose)
  client.on('end', lose)
  client.on('notification', ({ channel, payload = '' }) => onNotification(channel, payload))
  try {
    await client.connect()
    for (const channel of channels) await client.query(`LISTEN ${quoteIdentifier(channel)}`)
    isListening = true
  } catch (error) {
    await client.end().catch(() => {})
    throw error
  }
  return {
    get lost() {
      return lost
    },
    close: () => client.end().catch(() => {}),
  }
}
