import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { Agent, request } from 'node:http'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { json } from 'node:stream/consumers'
import { after, before, describe } from 'node:test'
import { clause } from '../../support/clause.ts'
import { runCommand, startCommand } from '../../support/command.ts'
import { findFreePort } from '../../support/network.ts'
import { createTestDatabase, hasAllVariants } from '../../support/postgres.ts'
import { startTestService, type TestService } from '../../support/service.ts'
import { waitUntil } from '../../support/wait-until.ts'

interface Readiness {
  readonly status: number
  readonly notReady: readonly { readonly name: string; readonly reason: string }[]
}

/** Each process loads the whole service. */
const patience = { withinMs: 120_000 }
const processes = { MASQUERADE_HTTP_WORKERS: '2', MASQUERADE_GATEWAY_WORKERS: '2' }

/** On a connection of its own: connections go to the processes in turn. Null: there is no answer. */
function readReady(port: number): Promise<Readiness | null> {
  return new Promise((resolve) => {
    const options = { port, path: '/readyz', agent: new Agent(), timeout: 2_000 }
    const sent = request({ host: '127.0.0.1', ...options }, async (answer) => {
      const { notReady = [] } = (await json(answer)) as Partial<Readiness>
      resolve({ status: answer.statusCode ?? 0, notReady })
    })
    sent.on('timeout', () => sent.destroy())
    sent.on('error', () => resolve(null))
    sent.end()
  })
}

function listens(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => resolve(true))
    socket.on('error', () => resolve(false)).on('connect', () => socket.destroy())
  })
}

const nodes = [
  ['one process', {}],
  ['several processes', processes],
] as const

for (const [title, more] of nodes.slice(hasAllVariants ? 0 : 1))
  describe(`the start of a node of ${title}`, () => {
    clause(
      'SVC-140',
      '`/readyz` is 503 until every listener of the node is open, all of its processes run and…',
      async () => {
        await using store = await createTestDatabase()
        const dataDir = await mkdtemp(join(tmpdir(), 'masquerade-ready-'))
        const ports = [await findFreePort(), await findFreePort(), await findFreePort()] as const
        const [http, https, gateway] = ports
        const environment = {
          MASQUERADE_DATA_DIR: dataDir,
          MASQUERADE_DATABASE_URL: store.url,
          MASQUERADE_HTTP_PORT: String(http),
          MASQUERADE_HTTPS_PORT: String(https),
          MASQUERADE_GATEWAY_PORT: String(gateway),
          ...more,
        }
        const node = startCommand(['serve'], environment)
        try {
          const isReady = async () => {
            const readiness = await readReady(http)
            if (readiness === null || readiness.status === 200) return readiness !== null
            assert.deepEqual(readiness.notReady[0], { name: 'service', reason: 'starting' })
            return false
          }
          await waitUntil('the node is ready', isReady, { ...patience, everyMs: 1 })
          assert.ok(existsSync(join(dataDir, 'run.json')), 'commands find the node')
          assert.deepEqual(await Promise.all([https, gateway].map(listens)), [true, true])
          const status = await runCommand(['status', '--json'], environment)
          assert.deepEqual([status.code, JSON.parse(status.stdout).state], [0, 'ready'])
        } finally {
          node.child.kill('SIGTERM')
          await node.ended
          await rm(dataDir, { recursive: true, force: true })
        }
      },
    )
  })

describe('the readiness of a node of several processes', () => {
  let service: TestService
  before(async () => {
    service = await startTestService(processes)
  })
  after(() => service[Symbol.asyncDispose]())

  const pids = (part: string): readonly number[] =>
    part === 'gateway' ? service.gateway.processes : Reflect.get(service.listeners, 'processes')
  const readReason = async (part: string) => {
    const readiness = await readReady(service.listeners.httpPort)
    if (readiness?.status === 200) return 'none'
    return readiness?.notReady.find(({ name }) => name === part)?.reason
  }
  /** As often as the processes of the node take turns. One that was stopped gives no answer. */
  const sayAll = async (part: string, expected: RegExp) => {
    const reasons: (string | undefined)[] = []
    for (let turn = 0; turn < 4; turn++) reasons.push(await readReason(part))
    const given = reasons.filter((reason) => reason !== undefined)
    return given.length > 1 && given.every((reason) => expected.test(reason))
  }

  for (const part of ['http', 'gateway'])
    clause(
      'SVC-141',
      '`/readyz` is 503 and says so while a process of the node is dead, or has not answered for five seconds,…',
      async () => {
        assert.equal(await sayAll(part, /^none$/), true)
        const [stopped = 0] = pids(part)
        process.kill(stopped, 'SIGSTOP')
        try {
          const isNamed = () => sayAll(part, new RegExp(`^process ${stopped} does not answer$`))
          await waitUntil('every process says which one does not answer', isNamed, patience)
        } finally {
          process.kill(stopped, 'SIGCONT')
        }
        const isWell = () => sayAll(part, /^none$/)
        await waitUntil('the node is ready again', isWell, patience)

        // The one that takes its place may be there before the question, so the next one is killed too.
        await waitUntil(
          'the node says that a process is missing',
          async () => {
            const [pid, ...others] = pids(part)
            if (pid !== undefined && others.length > 0) process.kill(pid, 'SIGKILL')
            return (await readReason(part)) === '1 of 2 processes run'
          },
          patience,
        )
        await waitUntil('the node is ready again', isWell, patience)
      },
    )
})
