import { after, before } from 'node:test'
import pg from 'pg'
import { freshDatabase, policyUrl, useMasking } from './masking.ts'
import { type StandbyPair, startStandby } from './standby.ts'
import { waitUntil } from './wait-until.ts'

/**
 * A service, and the database `people` on a primary with a standby that it can be bound to. The schema is run there before
 * the tests; sessions through the gateway end after them.
 */
export function useBoundPair({ schema, first }: { schema: string; first: 'primary' | 'standby' }) {
  const masking = useMasking({ MASQUERADE_AUDIT_SECONDS: '3600' })
  const db = freshDatabase()
  const opened: pg.Client[] = []
  let pair: StandbyPair
  before(async () => {
    pair = await startStandby()
    await pair.open(pair.primary, 'postgres').sql`create database people`
    await pair.open(pair.primary, 'people').sql.unsafe(schema)
  })
  after(async () => {
    for (const client of opened) await client.end().catch(() => {})
    await pair[Symbol.asyncDispose]()
  })

  /** Its session ends after the tests, if it has not before. */
  async function open(config: pg.ClientConfig): Promise<pg.Client> {
    const client = new pg.Client({ host: '127.0.0.1', password: 'secret', ...config })
    client.on('error', () => {})
    opened.push(client)
    await client.connect()
    return client
  }

  return {
    masking,
    db,
    pair: () => pair,
    /** Both servers, as a binding names them. */
    hosts(): string {
      const servers = first === 'primary' ? [pair.primary, pair.standby] : [pair.standby, pair.primary]
      return servers.map(({ port }) => `127.0.0.1:${port}`).join(',')
    },
    bind: (binding: object, version = 'api-version=2014-04-01') =>
      masking.send('PUT', `${db}?${version}`, {
        properties: { binding: { database: 'people', user: pair.user, ...binding } },
      }),
    /** A session of the role through the gateway. */
    connect: (user: string, options: pg.ClientConfig = {}) =>
      open({
        port: masking.service().gateway.port,
        user,
        database: db.replace(/^.*\//, ''),
        ...options,
      }),
    /** A session of the role at the standby, past the gateway. */
    connectDirectly: (user: string) => open({ port: pair.standby.port, user, database: 'people' }),
    /** Audits until the standbys are seen to show the masks. */
    untilEnforced: () =>
      waitUntil('the standbys show the masks', async () => {
        await masking.service().database.sql`update enforcement_state set next_check_at = now()`
        return (await masking.send('GET', `${policyUrl(db)}/enforcement`)).body.state === 'Enforced'
      }),
    async readPort(client: pg.Client): Promise<number> {
      return Number((await client.query("select current_setting('port') as port")).rows[0].port)
    },
  }
}
