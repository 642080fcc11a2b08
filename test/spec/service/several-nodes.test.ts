import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { after, before, describe } from 'node:test'
import type { Caller } from '../../../src/auth/caller.ts'
import { createSharedTaking } from '../../../src/auth/shared-allowance.ts'
import { createThrottle } from '../../../src/auth/throttle.ts'
import { openDatabase } from '../../../src/db/database.ts'
import { createCancelNotice } from '../../../src/db/events.ts'
import { listenTo } from '../../../src/db/listen.ts'
import { takeAttempt } from '../../../src/issuer/sign-in-throttle.ts'
import { writeCancel } from '../../../src/wire/startup.ts'
import { clause } from '../../support/clause.ts'
import { useGateway } from '../../support/gateway.ts'
import { addApplication } from '../../support/issuer.ts'
import { type SecondNode, sharedAddress, startSecondNode } from '../../support/second-node.ts'
import { holdsFor, waitUntil } from '../../support/wait-until.ts'

describe('two nodes over one store', () => {
  const gateway = useGateway({ ...sharedAddress, MASQUERADE_GATEWAY_WORKERS: '2' })
  const service = () => gateway.masking.service()
  let second: SecondNode
  before(async () => {
    second = await startSecondNode(service(), { MASQUERADE_GATEWAY_WORKERS: '2' })
  })
  after(() => second?.[Symbol.asyncDispose]())

  clause(
    'GATE-170',
    'A request to cancel that reaches a node without the session is passed on to the others by the…',
    async () => {
      const client = await gateway.connect('analyst')
      const secret = Buffer.alloc(4)
      secret.writeInt32BE(Number(Reflect.get(client, 'secretKey')))
      const processId = Number(Reflect.get(client, 'processID'))
      const cancel = async (key: Buffer) => {
        const socket = connect(second.gatewayPort, '127.0.0.1')
        socket.on('error', () => {})
        socket.end(writeCancel(processId, key))
        socket.resume()
        await once(socket, 'close')
      }
      const sleeping = client.query('select pg_sleep(60)').then(
        () => 'woke',
        (error: { code?: string }) => error.code,
      )
      const isSleeping = async () => {
        const rows = await gateway.masked().database.sql`
          select 1 from pg_stat_activity where pid = ${processId} and wait_event = 'PgSleep'`
        return rows.length > 0
      }
      await waitUntil('the statement runs', isSleeping)
      await cancel(Buffer.from(secret).fill(7, 0, 1))
      await holdsFor(300, 'the statement goes on', isSleeping)
      await cancel(secret)
      assert.equal(await sleeping, '57014')
      const { rows } = await client.query('select 1 as one')
      assert.deepEqual(rows, [{ one: 1 }])

      const heard: string[] = []
      const listening = await listenTo(service().store.address, ['masquerade_cancel'], {
        onNotification: (_channel, digest) => void heard.push(digest),
      })
      const pass = createCancelNotice(service().database.sql)
      await Promise.all(Array.from({ length: 100 }, (_, at) => pass(`digest-${at}`)))
      await service().database.sql`select pg_notify('masquerade_cancel', 'last')`
      await waitUntil('the last one is heard', () => heard.includes('last'))
      // A second may begin in between.
      assert.ok(heard.length <= 41, `${heard.length} requests were passed on`)
      await listening.close()
    },
  )

  clause(
    'SVC-71',
    'The rate limit of a caller holds for all nodes together: half of it is divided…',
    async () => {
      const limit = 40
      const other = openDatabase({ url: service().databaseUrl, poolSize: 4 })
      try {
        const throttles = [service().database.sql, other.sql].map((sql) =>
          createThrottle(limit, { countNodes: () => 2, take: createSharedTaking(sql) }),
        )
        const caller = { objectId: 'one', applicationId: 'client' } as Caller
        const from = Date.now()
        const outcomes = await Promise.allSettled(
          Array.from({ length: 8 * limit }, async (_, at) => throttles[at % 2]?.(caller)),
        )
        const admitted = outcomes.filter(({ status }) => status === 'fulfilled').length
        const seconds = 1 + Math.ceil((Date.now() - from) / 1000)
        assert.ok(admitted >= limit / 2, `${admitted} were admitted`)
        assert.ok(admitted <= limit * seconds, `${admitted} were admitted in ${seconds} seconds`)

        const attempt = { account: 'ann@example.com', address: '192.0.2.1' }
        for (let count = 0; count < 5; count++)
          assert.equal(await takeAttempt(count % 2 ? other.sql : service().database.sql, attempt), 0)
        for (const sql of [service().database.sql, other.sql])
          assert.ok((await takeAttempt(sql, attempt)) > 0, 'the node does not know of the failures')
      } finally {
        await other.close()
      }

      const { appId } = await addApplication(service(), { properties: { isFallbackPublicClient: true } })
      const post = async (origin: string, path: string, form: Record<string, string>) => {
        const address = `${origin}/${service().tenantId}/oauth2/v2.0/${path}`
        const response = await fetch(address, {
          method: 'POST',
          headers: { 'x-forwarded-proto': 'https' },
          body: new URLSearchParams({ client_id: appId, ...form }),
        })
        return (await response.json()) as { device_code?: string; error?: string }
      }
      const { device_code = '' } = await post(service().origin, 'devicecode', { scope: 'openid' })
      const grant_type = 'urn:ietf:params:oauth:grant-type:device_code'
      assert.deepEqual(
        (await post(second.origin, 'token', { grant_type, device_code })).error,
        'authorization_pending',
      )
    },
  )
})
