import assert from 'node:assert/strict'
import { after, describe } from 'node:test'
import pg from 'pg'
import pino from 'pino'
import { createEventRecords } from '../../../src/gateway/audit/record-events.ts'
import type { SessionEvent } from '../../../src/gateway/ports.ts'
import { clause } from '../../support/clause.ts'
import { useGateway } from '../../support/gateway.ts'
import { startForger } from '../../support/hostile-server.ts'
import { bindingOf, createMaskedDatabase } from '../../support/masked-database.ts'
import { freshDatabase, policyUrl } from '../../support/masking.ts'
import { type Network, openNetwork } from '../../support/network.ts'
import { waitUntil } from '../../support/wait-until.ts'

const email = 'public.customers.email'
const tables = `
  create table public.customers (id int primary key, email text);
  insert into public.customers values (1, 'ann@example.com');
  grant usage on schema public to public; grant select on public.customers to public`

describe('the audit of a database beside one that is hostile or away', () => {
  const gateway = useGateway()
  const { masking } = gateway
  const neighbours: Awaited<ReturnType<typeof createMaskedDatabase>>[] = []
  const clients: pg.Client[] = []
  after(async () => {
    for (const client of clients) await client.end().catch(() => {})
    for (const each of neighbours) await each[Symbol.asyncDispose]()
  })

  /** Another bound database with a masked column, reached by this port. */
  async function bindNeighbour(openPort: (url: string) => Promise<number>) {
    const target = await createMaskedDatabase()
    neighbours.push(target)
    await target.database.sql.unsafe(tables)
    const db = freshDatabase()
    const binding = { ...bindingOf(target.url), port: await openPort(target.url) }
    const bound = await masking.send('PUT', db, { properties: { binding } })
    assert.equal(bound.status, 201, bound.text)
    const where = { schemaName: 'public', tableName: 'customers', columnName: 'email' }
    const put = await masking.putRule(db, 'mail', { ...where, maskingFunction: 'Email' })
    assert.equal(put.headers.get('x-masquerade-enforcement'), 'Enforced', put.text)
    return {
      db,
      /** A session of a new role through the gateway. */
      async connect(role: string): Promise<pg.Client> {
        const user = await target.createRole(role)
        const client = new pg.Client({
          host: '127.0.0.1',
          port: gateway.port(),
          user,
          password: 'secret',
          database: db.replace(/^.*\//, ''),
        })
        client.on('error', () => {})
        clients.push(client)
        await client.connect()
        return client
      },
    }
  }

  async function observe(db: string): Promise<void> {
    const url = `${policyUrl(db)}/document?api-version=2026-11-01`
    const { properties } = (await masking.send('GET', url)).body
    const policy = { ...properties.policy, dataMaskingState: 'Enabled', enforcementMode: 'Observe' }
    const put = await masking.send('PUT', url, { properties: { ...properties, policy } })
    assert.equal(put.headers.get('x-masquerade-enforcement'), 'Observing', put.text)
  }

  async function readTouches(db: string): Promise<{ role: string; statements: object[] }[]> {
    const url = `${db}/auditEvents?api-version=2014-04-01&$top=1000`
    const { value } = (await masking.send('GET', url)).body
    return value
      .filter(({ action }: { action: string }) => action === 'gateway/touch')
      .map((entry: { after: object }) => entry.after)
  }

  /** A new session reads the masked column of the first database; resolves when the audit has it. */
  async function readIsRecorded(): Promise<void> {
    const count = (await readTouches(gateway.db)).length
    const client = await gateway.connect('analyst')
    await client.query('select email from public.customers')
    const isThere = async () => (await readTouches(gateway.db)).length > count
    await waitUntil('the audit has the read of the other database', isThere, { withinMs: 15_000 })
    await client.end()
  }

  clause(
    'GATE-200',
    'A bound database that cannot be asked delays no entry of another. While an observed database does…',
    async () => {
      for (const how of ['close', 'silence'] as const) {
        let network: Network | undefined
        const neighbour = await bindNeighbour(async (url) => {
          network = await openNetwork(url)
          return network.address.port
        })
        try {
          await observe(neighbour.db)
          const reader = await neighbour.connect('reader')
          const isRecorded = (text: string) =>
            waitUntil(`${how}: ${text}`, async () =>
              JSON.stringify(await readTouches(neighbour.db)).includes(text),
            )
          await reader.query('select email from public.customers')
          await isRecorded(`"wouldMask":["${email}"]`)
          // The writer of the audit looks once a second. Just after a look, there is time to close the database before the next.
          await readIsRecorded()
          await reader.query('explain select email from public.customers')
          if (how === 'close') network?.close()
          else network?.silence()
          await readIsRecorded()
          await readIsRecorded()
          await isRecorded(`"raw":["${email}"]`)
        } finally {
          network?.close()
        }
      }
    },
  )

  clause(
    'GATE-201',
    'An entry whose content the store refuses is dropped, and reported like other…',
    async () => {
      const { database } = masking.service()
      const lines: object[] = []
      let lost = 0
      const record = createEventRecords({
        database,
        tenantId: (await database.sql`select tenant_id as id from masked_database limit 1`)[0]?.id,
        metrics: {
          auditLost: (count) => {
            lost += count
          },
        },
        log: pino({}, { write: (line: string) => void lines.push(JSON.parse(line)) }),
      })
      const touchOf = (id: string, column: string): SessionEvent => ({
        kind: 'touched',
        at: new Date(),
        session: {
          id,
          role: 'reader',
          principal: undefined,
          from: '::1',
          encrypted: true,
          database: {
            id: 'd',
            target: gateway.db,
            isReached: true,
            address: { host: '', port: 0, database: '', addresses: [] },
          },
        },
        touches: [
          { kind: 'SELECT', count: 1, masked: [], raw: [column], written: [], denied: [], isUnparsed: false },
        ],
        leftOut: 0,
      })
      const bad = ['secret\0name', 'secret\ud800name'].map((column, at) => touchOf(`bad-${at}`, column))
      await record([touchOf('good-1', 'a'), ...bad, touchOf('good-2', 'b')])
      const rows = await database.sql`
      select request_id as id from masquerade.audit_event where request_id ~ '^(good|bad)-' order by 1`
      assert.deepEqual(
        rows.map(({ id }) => id),
        ['good-1', 'good-2'],
      )
      assert.equal(lost, 2)
      assert.equal(lines.length, 1)
      assert.doesNotMatch(JSON.stringify(lines), /secret/)
    },
  )

  clause(
    'GATE-202',
    'An answer of a bound database that holds the character of the code 0, or an…',
    async () => {
      let forger: Awaited<ReturnType<typeof startForger>> | undefined
      const neighbour = await bindNeighbour(async (url) => {
        forger = await startForger(
          Number(new URL(url).port),
          'public.customers.email',
          'public.customers.em\0il',
        )
        return forger.port
      })
      try {
        forger?.forge()
        const client = await neighbour.connect('victim')
        await client.query('select email from public.customers').catch(() => {})
        await waitUntil('the server has forged a name', () => (forger?.forged ?? 0) > 0)
        await readIsRecorded()
        await readIsRecorded()
        assert.doesNotMatch(JSON.stringify(await readTouches(neighbour.db)), /em.il/)
      } finally {
        forger?.[Symbol.dispose]()
      }
    },
  )
})
