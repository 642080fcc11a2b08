import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer, type Server } from 'node:http'
import { Agent, type RequestOptions, request } from 'node:https'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { describe } from 'node:test'
import { readText } from '../../house/tree.ts'
import { type BalancedNode, startBalancer } from '../../support/balancer.ts'
import { clause } from '../../support/clause.ts'
import { runCommand, startCommand } from '../../support/command.ts'
import { findProgram } from '../../support/find-program.ts'
import { findFreePort } from '../../support/network.ts'
import { createTestDatabase } from '../../support/postgres.ts'
import { retryUntil, waitUntil } from '../../support/wait-until.ts'

const leastRequests = 10_000
const [, drainSeconds = ''] = /MASQUERADE_DRAIN_SECONDS: "(\d+)"/.exec(readText('deploy/compose.yaml')) ?? []
const haproxy = findProgram('haproxy')
const missing = haproxy === undefined && 'haproxy is not installed'

describe('HAProxy before nodes', { skip: missing }, () => {
  clause(
    'SVC-145',
    'HAProxy with `deploy/haproxy.cfg` repeats at another node each request whose connection is refused,…',
    async () => {
      const folder = await mkdtemp(join(tmpdir(), 'masquerade-repeated-'))
      const heard: string[] = []
      const [dying, well] = [openFake(heard, true), openFake(heard, false)]
      const nodes = await Promise.all([dying, well].map(describeFake))
      const { port, running } = await startBalancer(haproxy ?? '', folder, nodes)
      const ask = (method: string) =>
        send({ port, method, path: '/', agent: new Agent() }).then(({ status }) => status)
      try {
        await retryUntil(() => ask('GET'))
        for (const method of ['GET', 'HEAD', 'OPTIONS'])
          assert.deepEqual(new Set(await inTurn(4, () => ask(method))), new Set([200]), method)
        for (const method of ['POST', 'PATCH', 'PUT', 'DELETE']) {
          heard.length = 0
          assert.deepEqual(new Set(await inTurn(4, () => ask(method))), new Set([200, 502]), method)
          assert.equal(heard.length, 4, `${method} was sent once each`)
        }
        dying.close().closeAllConnections()
        assert.deepEqual(new Set(await inTurn(4, () => ask('POST'))), new Set([200]))
      } finally {
        await running.stop()
        well.close().closeAllConnections()
        await rm(folder, { recursive: true, force: true })
      }
    },
  )

  const skip =
    !process.env.MASQUERADE_TEST_ALL && 'three nodes under load, one after the other: npm run test:all'
  describe('in a rolling restart', { skip: missing || skip }, () => {
    clause(
      'SVC-144',
      'Behind `deploy/haproxy.cfg`, no request fails while three nodes with the drain time of…',
      (t) => restartAll((line) => t.diagnostic(line)),
    )
  })
})

interface Node extends BalancedNode {
  readonly environment: Record<string, string>
  start(): Promise<void>
  /** Resolves with the exit code after SIGTERM. */
  stop(): Promise<number | null>
}

async function restartAll(say: (line: string) => void): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'masquerade-rolling-'))
  await using cleanup = new AsyncDisposableStack()
  cleanup.defer(() => rm(folder, { recursive: true, force: true }))
  const store = cleanup.use(await createTestDatabase())
  const names = ['node-1', 'node-2', 'node-3']
  const nodes = await Promise.all(names.map((name) => describeNode(folder, name, store.url)))
  cleanup.defer(async () => void (await Promise.all(nodes.map((node) => node.stop()))))
  // The first one makes the key that the others share.
  await nodes[0]?.start()
  await Promise.all(nodes.slice(1).map((node) => node.start()))
  const { port, running } = await startBalancer(haproxy ?? '', folder, nodes)
  cleanup.defer(() => running.stop())
  const token = (await runCommand(['token', '--admin'], nodes[0]?.environment)).stdout.trim()
  const load = new Load(port, token)
  await load.serves(leastRequests / 20)
  for (const node of nodes) {
    assert.equal(await node.stop(), 0)
    await load.serves(leastRequests / 20)
    await node.start()
    await load.serves(leastRequests / 20)
  }
  await load.serves(leastRequests - load.sent)
  await load.stop()
  const counts = Object.entries(load.counts).map(([kind, count]) => `${count} ${kind}`)
  say(`${load.sent} requests (${counts.join(', ')}), ${load.failures.length} failures`)
  const odd = running.seen.out.split('\n').filter((line) => / - - (?!----)\S{4} /.test(line))
  assert.deepEqual(load.failures, [], odd.slice(0, 20).join('\n'))
  const [row] = await store.database.sql`
    select count(*)::int as count from masquerade.directory_object where display_name like 'rolling %'`
  assert.equal(row?.count, load.counts.created, 'each group was created once')
}

async function describeNode(folder: string, name: string, databaseUrl: string): Promise<Node> {
  const [httpPort, gatewayPort] = [await findFreePort(), await findFreePort()]
  const environment = {
    MASQUERADE_DATA_DIR: join(folder, name),
    MASQUERADE_DATABASE_URL: databaseUrl,
    ...(name !== 'node-1' && { MASQUERADE_SECRET_KEY_FILE: join(folder, 'node-1', 'secret.key') }),
    MASQUERADE_PUBLIC_URL: 'https://masquerade.example',
    MASQUERADE_TRUSTED_PROXIES: '127.0.0.1',
    MASQUERADE_GATEWAY_PROXIES: '127.0.0.1',
    MASQUERADE_HTTP_PORT: String(httpPort),
    MASQUERADE_HTTPS_PORT: '0',
    MASQUERADE_GATEWAY_PORT: String(gatewayPort),
    MASQUERADE_RATE_LIMIT: '0',
    MASQUERADE_DRAIN_SECONDS: drainSeconds,
  }
  let running: ReturnType<typeof startCommand> | undefined
  return {
    httpPort,
    gatewayPort,
    environment,
    async start() {
      running = startCommand(['serve'], environment)
      const isReady = () =>
        fetch(`http://127.0.0.1:${httpPort}/readyz`).then(
          ({ status }) => status === 200,
          () => false,
        )
      await waitUntil(`${name} is ready`, isReady, { withinMs: 120_000 })
    },
    async stop() {
      running?.child.kill('SIGTERM')
      return (await running?.ended)?.code ?? null
    },
  }
}

/** Clients with connections that they keep, and clients that make one for each request; a fifth of the requests write. */
class Load {
  readonly failures: string[] = []
  readonly counts = { read: 0, changed: 0, created: 0 }
  sent = 0
  readonly #port: number
  readonly #headers: Record<string, string>
  readonly #work: Promise<unknown>
  #isOver = false

  constructor(port: number, token: string) {
    this.#port = port
    this.#headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
    this.#work = Promise.all([0, 1, 2, 3, 4, 5].map((client) => this.#runClient(client)))
  }

  /** Resolves when so many more requests were answered. */
  async serves(more: number): Promise<void> {
    const goal = this.sent + more
    await waitUntil('the load is served', () => this.sent >= goal, { withinMs: 600_000 })
  }

  async stop(): Promise<void> {
    this.#isOver = true
    await this.#work
  }

  async #runClient(client: number): Promise<void> {
    const kept = new Agent({ keepAlive: true, maxSockets: 1 })
    const names = { mailEnabled: false, securityEnabled: true }
    let group: string | undefined
    for (let turn = 0; !this.#isOver; turn++) {
      const agent = client % 3 === 0 ? new Agent({ keepAlive: false }) : kept
      const name = `rolling ${client}-${turn}`
      if (turn % 20 === 0) {
        const body = { ...names, displayName: name, mailNickname: name.replace(' ', '-') }
        const created = await this.#send(agent, 'POST', '/v1.0/groups', 201, body)
        group = created?.id
        if (created) this.counts.created++
      } else if (turn % 5 === 0 && group) {
        const changed = await this.#send(agent, 'PATCH', `/v1.0/groups/${group}`, 204, { description: name })
        if (changed) this.counts.changed++
      } else {
        const found = await this.#send(agent, 'GET', turn % 2 === 0 ? '/v1.0/users?$top=1' : '/v1.0/me', 200)
        if (found) this.counts.read++
      }
    }
    kept.destroy()
  }

  /** The answer; undefined after a failure, which is noted. */
  async #send(agent: Agent, method: string, path: string, expected: number, body?: object) {
    try {
      const { status, answer } = await send(
        { port: this.#port, method, path, agent, headers: this.#headers },
        body,
      )
      if (status !== expected) throw new Error(`${status} ${answer.slice(0, 200)}`)
      return answer === '' ? {} : JSON.parse(answer)
    } catch (error) {
      this.failures.push(`${method} ${path}: ${error instanceof Error ? error.message : error}`)
      return undefined
    } finally {
      this.sent++
    }
  }
}

/** To the balancer, whose certificate is for another name. */
function send(options: RequestOptions, body?: object): Promise<{ status: number; answer: string }> {
  return new Promise((resolve, reject) => {
    const sending = request({ host: '127.0.0.1', rejectUnauthorized: false, ...options }, (response) =>
      text(response).then((answer) => resolve({ status: response.statusCode ?? 0, answer }), reject),
    )
    sending.on('error', reject)
    sending.end(body && JSON.stringify(body))
  })
}

/** Notes each request that it takes, and is ready. One that dies takes requests and gives no answer. */
function openFake(heard: string[], dies: boolean): Server {
  return createServer(({ method = '', url, socket }, response) => {
    if (url === '/readyz') return response.end()
    heard.push(method)
    if (dies) socket.destroy()
    else response.end()
  })
}

async function describeFake(server: Server): Promise<BalancedNode> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return { httpPort: (server.address() as AddressInfo).port, gatewayPort: await findFreePort() }
}

async function inTurn<T>(count: number, run: () => Promise<T>): Promise<T[]> {
  const all: T[] = []
  for (let turn = 0; turn < count; turn++) all.push(await run())
  return all
}
