import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { Agent, request } from 'node:http'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { after, before, describe } from 'node:test'
import { sslRequest } from '../../../src/wire/startup.ts'
import { clause } from '../../support/clause.ts'
import { runCommand, startCommand } from '../../support/command.ts'
import { createTestDatabase, hasAllVariants, type TestDatabase } from '../../support/postgres.ts'
import { waitUntil } from '../../support/wait-until.ts'

interface Answer {
  readonly status: number
  readonly connection: string | undefined
  readonly body: string
}

const nameGroup = (name: string) => ({
  displayName: name,
  mailNickname: name,
  mailEnabled: false,
  securityEnabled: true,
})
/** Longer than any test waits. */
const longSeconds = 600
const processes = { MASQUERADE_HTTP_WORKERS: '2', MASQUERADE_GATEWAY_WORKERS: '2' }

const nodes = [
  ['one process', {}],
  ['several processes', processes],
] as const

for (const [title, more] of nodes.slice(0, hasAllVariants ? 2 : 1))
  describe(`a node of ${title} that is to stop`, () => {
    let store: TestDatabase
    let folder: string
    before(async () => {
      store = await createTestDatabase()
      folder = await mkdtemp(join(tmpdir(), 'masquerade-drain-'))
    })
    after(async () => {
      await store?.[Symbol.asyncDispose]()
      await rm(folder, { recursive: true, force: true })
    })

    async function startNode(seconds: number) {
      const environment = {
        MASQUERADE_DATA_DIR: join(folder, 'data'),
        MASQUERADE_DATABASE_URL: store.url,
        MASQUERADE_HTTP_PORT: '0',
        MASQUERADE_HTTPS_PORT: '0',
        MASQUERADE_GATEWAY_PORT: '0',
        MASQUERADE_DRAIN_SECONDS: String(seconds),
        MASQUERADE_SHUTDOWN_TIMEOUT_SECONDS: String(longSeconds),
        ...more,
      }
      const node = startCommand(['serve'], environment)
      const screen = await node.waitFor(/Ctrl\+C/)
      const origin = /http:\/\/[\w.:]+/.exec(screen)?.[0] ?? ''
      const gatewayPort = Number(/postgresql:\/\/[\w.]+:(\d+)/.exec(screen)?.[1])
      const token = (await runCommand(['token', '--admin'], environment)).stdout.trim()
      const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
      const ask = (path: string, agent = new Agent(), body?: object) =>
        new Promise<Answer>((resolve, reject) => {
          const sent = request(origin + path, { method: body ? 'POST' : 'GET', agent, headers }, (answer) => {
            const { statusCode: status = 0, headers } = answer
            const { connection } = headers
            text(answer).then((body) => resolve({ status, connection, body }), reject)
          })
          sent.on('error', reject)
          sent.end(body && JSON.stringify(body))
        })
      return { ...node, environment, origin, gatewayPort, headers, ask }
    }

    clause(
      'SVC-142',
      'After `SIGTERM`, `/readyz` is 503 at once, and the node serves old and new connections for…',
      async () => {
        const node = await startNode(longSeconds)
        try {
          const kept = new Agent({ keepAlive: true, maxSockets: 1 })
          assert.deepEqual((await node.ask('/v1.0/me', kept)).connection, 'keep-alive')
          node.child.kill('SIGTERM')
          const body = { status: 'not ready', notReady: [{ name: 'service', reason: 'shutting down' }] }
          await waitUntil('the node is not ready', async () => (await node.ask('/readyz')).status === 503)
          assert.deepEqual(JSON.parse((await node.ask('/readyz')).body), body)
          const status = await runCommand(['status'], node.environment)
          assert.equal(status.code, 4, status.stdout)

          for (const agent of [kept, ...Array.from({ length: 4 }, () => new Agent())])
            assert.equal((await node.ask('/v1.0/me', agent)).status, 200)
          assert.equal((await node.ask('/v1.0/groups', kept, nameGroup('late'))).status, 201)
          const session = connect(node.gatewayPort, '127.0.0.1')
          session.write(sslRequest)
          const [answer] = (await once(session, 'data')) as [Buffer]
          assert.equal(answer.toString(), 'S')
          session.destroy()
        } finally {
          node.child.kill('SIGINT')
        }
        assert.equal((await node.ended).code, 0)
      },
    )

    clause(
      'SVC-146',
      'After `SIGTERM`, the answer to each new request ends its HTTP connection, and requests under way…',
      async () => {
        const node = await startNode(longSeconds)
        const options = { method: 'POST', headers: { ...node.headers, expect: '100-continue' } }
        const slow = request(`${node.origin}/v1.0/groups`, options)
        slow.flushHeaders()
        await once(slow, 'continue')
        const answered = once(slow, 'response') as Promise<[{ statusCode: number }]>
        node.child.kill('SIGTERM')
        // They go to the processes in turn: each of them hears of it.
        await waitUntil('every answer ends its connection', async () => {
          const agents = Array.from({ length: 4 }, () => new Agent({ keepAlive: true }))
          const answers = await Promise.all(agents.map((agent) => node.ask('/v1.0/me', agent)))
          return answers.every(({ connection }) => connection === 'close')
        })
        node.child.kill('SIGINT')
        // Node never answers a connection that it accepts for several processes while the last one closes its listener.
        const isClosed = () =>
          fetch(`${node.origin}/healthz`, { signal: AbortSignal.timeout(2_000) }).then(
            () => false,
            () => true,
          )
        await waitUntil('connections are refused', isClosed)
        slow.end(JSON.stringify(nameGroup('slow')))
        const [{ statusCode }] = await answered
        assert.equal(statusCode, 201)
        assert.equal((await node.ended).code, 0)
      },
    )

    if (more !== processes)
      clause(
        'SVC-142',
        'After `SIGTERM`, `/readyz` is 503 at once, and the node serves old and new connections for…',
        async () => {
          const seconds = 2
          const node = await startNode(seconds)
          const from = performance.now()
          node.child.kill('SIGTERM')
          assert.equal((await node.ended).code, 0)
          assert.ok(performance.now() - from >= seconds * 1000)
        },
      )

    if (more !== processes)
      clause(
        'SVC-143',
        '`SIGINT` and `SIGHUP` stop a node without the delay of SVC-142, and end…',
        async () => {
          for (const signal of ['SIGINT', 'SIGHUP'] as const) {
            const node = await startNode(longSeconds)
            if (signal === 'SIGHUP') {
              node.child.kill('SIGTERM')
              await waitUntil('the delay begins', async () => (await node.ask('/readyz')).status === 503)
            }
            node.child.kill(signal)
            assert.equal((await node.ended).code, 0, signal)
          }
        },
      )
  })
