import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe } from 'node:test'
import pino from 'pino'
import { startService } from '../../../src/main.ts'
import { readSettings } from '../../../src/settings.ts'
import { clause } from '../../support/clause.ts'
import { runCommand, startCommand } from '../../support/command.ts'
import { createTestDatabase, type TestDatabase } from '../../support/postgres.ts'
import { waitUntil } from '../../support/wait-until.ts'

interface Notification {
  readonly id: string
  readonly resourceData: { readonly id: string }
}

describe('a node killed while it delivers notifications', () => {
  let database: TestDatabase
  let directory: string
  let environment: Record<string, string>
  const received: Notification[] = []
  let onReceived: () => unknown = () => {}
  const client = createServer(async (request, response) => {
    const token = new URL(request.url ?? '', 'http://client').searchParams.get('validationToken')
    const text = (await request.toArray()).join('')
    if (token !== null) return void response.writeHead(200, { 'content-type': 'text/plain' }).end(token)
    received.push(...JSON.parse(text).value)
    await onReceived()
    response.writeHead(202).end()
  })

  before(async () => {
    database = await createTestDatabase()
    directory = await mkdtemp(join(tmpdir(), 'masquerade-notified-'))
    client.listen(0, '127.0.0.1')
    await once(client, 'listening')
    environment = {
      MASQUERADE_DATA_DIR: directory,
      MASQUERADE_DATABASE_URL: database.url,
      MASQUERADE_HTTP_PORT: '0',
      MASQUERADE_HTTPS_PORT: '0',
      MASQUERADE_GATEWAY_PORT: '0',
      MASQUERADE_GATEWAY_WORKERS: '1',
      MASQUERADE_NOTIFICATION_HOSTS: '127.0.0.1',
    }
  })
  after(async () => {
    await database?.[Symbol.asyncDispose]()
    client.closeAllConnections()
    client.close()
    await rm(directory, { recursive: true, force: true })
  })

  clause(
    'DIR-268',
    'Notifications are delivered at least once: those that the client did not take with a 2xx are sent again …',
    async () => {
      const killed = startCommand(['serve'], environment)
      const origin = /http:\/\/[\w.:]+/.exec(await killed.waitFor(/Ctrl\+C/))?.[0] ?? ''
      const token = (await runCommand(['token', '--admin'], environment)).stdout.trim()
      const post = async (path: string, body: object): Promise<{ id: string }> => {
        const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
        const answer = await fetch(`${origin}/v1.0${path}`, {
          method: 'POST',
          headers,
          body: JSON.stringify(body),
        })
        assert.equal(answer.status, 201)
        return (await answer.json()) as { id: string }
      }
      const { port } = client.address() as AddressInfo
      const { id } = await post('/subscriptions', {
        resource: 'groups',
        changeType: 'created',
        notificationUrl: `http://127.0.0.1:${port}`,
        expirationDateTime: new Date(Date.now() + 3_600_000).toISOString(),
      })
      // The client has the notification, and the node dies before it can record that, and after it has answered its caller.
      const group = { displayName: 'G', mailNickname: 'g', mailEnabled: false, securityEnabled: true }
      const answered = Promise.withResolvers<void>()
      onReceived = async () => {
        await answered.promise
        killed.child.kill('SIGKILL')
      }
      const made = await post('/groups', group)
      answered.resolve()
      await killed.ended
      const [first] = received
      assert.equal(first?.resourceData.id, made.id)
      const { sql } = database.database
      const positionOf = async () =>
        (
          await sql<{ behind: boolean }[]>`
          select position < (select max(revision) from change_log) as behind from change_subscription where id = ${id}`
        )[0]
      assert.equal((await positionOf())?.behind, true)

      onReceived = () => {}
      // The lease of the killed node runs out; the test does not wait for it.
      await sql`update change_subscription set leased_until = now() where id = ${id}`
      const next = await startService({ settings: readSettings(environment), log: pino({ level: 'silent' }) })
      try {
        await waitUntil('the notification once more', () => received.length >= 2)
        assert.deepEqual(received[1], first, 'the client recognises it by its id')
        await waitUntil('its record', async () => (await positionOf())?.behind === false)
        assert.equal(received.length, 2)
      } finally {
        await next.stop()
      }
    },
  )
})
