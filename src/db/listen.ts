import pg from 'pg'
import type { DatabaseAddress } from './database-url.ts'
import { quoteIdentifier } from './sql.ts'

export interface Listening {
  /** The connection is lost; nothing is heard any more. */
  readonly lost: boolean
  close(): Promise<void>
}

/** A connection of its own that hears what others notify. Rejects when the database cannot be reached. */
export async function listenTo(
  address: DatabaseAddress,
  channel: string,
  onNotification: () => void,
): Promise<Listening> {
  const client = new pg.Client({
    ...address,
    password: () => address.password,
    ssl: address.ssl ?? false,
    application_name: 'masquerade watch',
    connectionTimeoutMillis: 5_000,
    keepAlive: true,
  })
  let lost = false
  const lose = () => {
    lost = true
  }
  client.on('error', lose)
  client.on('end', lose)
  client.on('notification', onNotification)
  try {
    await client.connect()
    await client.query(`LISTEN ${quoteIdentifier(channel)}`)
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
