// Two nodes, concurrent writers and readers, and faults. Every answer names its revision; afterwards the change log tells
// what the answer had to be, and whether the revision was new enough. MASQUERADE_TEST_SECONDS makes each phase longer.
import assert from 'node:assert/strict'
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import pino from 'pino'
import { type EmbeddedPostgres, startEmbedded } from '../../../src/db/embedded.ts'
import { type Service, startService } from '../../../src/main.ts'
import { readSettings } from '../../../src/settings.ts'
import { clause } from '../../support/clause.ts'
import { type Started, startCommand } from '../../support/command.ts'
import { fillDirectory } from '../../support/directory.ts'
import { type Answer, findWrongAnswers, type LogEntry, type Write } from '../../support/membership-history.ts'
import { createTokens } from '../../support/tokens.ts'
import { waitUntil } from '../../support/wait-until.ts'

const phaseSeconds = Number(process.env.MASQUERADE_TEST_SECONDS ?? 1)
const phaseMs = phaseSeconds * 1000
// More users for longer runs: each pair of a group and a member is added once, and writers must not run out of pairs.
const [groupCount, userCount] = [40, 80 + 15 * (phaseSeconds - 1)]
const [writerCount, readerCount] = [4, 8]

describe('memberships on two nodes', () => {
  let dataDir: string
  let store: EmbeddedPostgres
  let first: Service
  let second: Started
  let origins: string[]
  let token: string
  let groups: string[]
  let users: string[]

  const environment = () => ({
    MASQUERADE_DATABASE_URL: store.url,
    MASQUERADE_PUBLIC_URL: 'https://masquerade.example',
    MASQUERADE_HTTP_PORT: '0',
    MASQUERADE_HTTPS_PORT: '0',
    MASQUERADE_GATEWAY_PORT: '0',
    MASQUERADE_GATEWAY_WORKERS: '1',
    MASQUERADE_RATE_LIMIT: '0',
    MASQUERADE_DEMO: '0',
  })

  before(async () => {
    dataDir = await mkdtemp(join(tmpdir(), 'masquerade-test-'))
    store = await startEmbedded({ dataDir: join(dataDir, 'store'), fast: true })
    await mkdir(join(dataDir, 'first'))
    const settings = readSettings({ ...environment(), MASQUERADE_DATA_DIR: join(dataDir, 'first') })
    first = await startService({ settings, log: pino({ level: 'silent' }) })
    const tokens = await createTokens(first)
    token = tokens.tokenFor({
      kind: 'application',
      permissions: [
        'GroupMember.ReadWrite.All',
        'User.ReadWrite.All',
        'Group.ReadWrite.All',
        'Directory.Read.All',
      ],
    })
    const directory = fillDirectory({ database: first.database, tenantId: first.store.tenantId })
    groups = await Promise.all(Array.from({ length: groupCount }, () => directory.group()))
    users = await Promise.all(Array.from({ length: userCount }, () => directory.user()))
    second = startCommand(['serve'], {
      ...environment(),
      MASQUERADE_DATA_DIR: join(dataDir, 'second'),
      MASQUERADE_SECRET_KEY_FILE: join(dataDir, 'first', 'secret.key'),
    })
    const screen = await second.waitFor(/http:\/\/127\.0\.0\.1:\d+/)
    const origin = /http:\/\/127\.0\.0\.1:\d+/.exec(screen)?.[0] ?? ''
    origins = [`http://127.0.0.1:${first.listeners.httpPort}`, origin]
    await first.memberships.settled()
  })
  after(async () => {
    second?.child.kill('SIGCONT')
    second?.child.kill('SIGTERM')
    await second?.ended
    await first?.stop()
    await store?.stop()
    await rm(dataDir, { recursive: true, force: true })
  })

  async function send(method: string, path: string, body?: unknown) {
    const origin = origins[Math.random() < 0.5 ? 0 : 1]
    return await fetch(`${origin}/v1.0${path}`, {
      method,
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
  }

  /** Each pair is added once and removed once at most, so that the log has one entry for each acknowledged write. */
  async function write(pairs: Iterator<[string, string]>, isOver: () => boolean, done: Write[]) {
    const added: [string, string][] = []
    while (!isOver()) {
      const removed = Math.random() < 0.4 ? added.shift() : undefined
      const pair = removed ?? pairs.next().value
      if (!pair) return
      const [container, member] = pair
      const response = await (removed
        ? send('DELETE', `/groups/${container}/members/${member}/$ref`)
        : send('POST', `/groups/${container}/members/$ref`, {
            '@odata.id': `https://directory.example/v1.0/directoryObjects/${member}`,
          })
      ).catch(() => undefined)
      await response?.arrayBuffer().catch(() => undefined)
      if (response?.status !== 204) continue
      const kind = removed ? 'memberRemoved' : 'memberAdded'
      done.push({ kind, container, member, acknowledgedAt: performance.now() })
      if (!removed) added.push(pair)
    }
  }

  async function read(isOver: () => boolean, answers: Answer[], failures: number[]) {
    while (!isOver()) {
      const object = [...users, ...groups][Math.floor(Math.random() * (userCount + groupCount))] ?? ''
      const startedAt = performance.now()
      const response = await send('POST', `/directoryObjects/${object}/getMemberGroups`, {
        securityEnabledOnly: false,
      }).catch(() => undefined)
      const body = (await response?.json().catch(() => undefined)) as { value?: string[] } | undefined
      if (response?.status !== 200 || !body?.value) {
        failures.push(response?.status ?? 0)
        continue
      }
      const revision = Number(response.headers.get('x-masquerade-revision'))
      answers.push({ object, startedAt, revision, ids: body.value })
    }
  }

  function* choosePairs(writer: number): Generator<[string, string]> {
    const all = groups.flatMap((group, at) =>
      at % writerCount === writer
        ? [...users, ...groups]
            .filter((one) => one !== group)
            .map((member): [string, string] => [group, member])
        : [],
    )
    for (const pair of all.sort(() => Math.random() - 0.5)) yield pair
  }

  const endConnections = (name: string) => first.database.sql`
    select pg_terminate_backend(pid) from pg_stat_activity where application_name = ${name}`

  const faults: readonly (() => Promise<unknown>)[] = [
    async () => {},
    async () => {
      second.child.kill('SIGSTOP')
      await wait(phaseMs)
      second.child.kill('SIGCONT')
    },
    () => endConnections('masquerade watch'),
    () => endConnections('masquerade memberships'),
    async () => {
      await store.stop()
      store = await startEmbedded({ dataDir: join(dataDir, 'store'), fast: true })
    },
  ]

  clause(
    'DIR-190',
    'Answers of getMemberGroups, getMemberObjects, checkMemberGroups and checkMemberObjects carry the header…',
    async (t) => {
      const writes: Write[] = []
      const answers: Answer[] = []
      const failures: number[] = []
      let isOver = false
      const work = [
        ...Array.from({ length: writerCount }, (_, at) => write(choosePairs(at), () => isOver, writes)),
        ...Array.from({ length: readerCount }, () => read(() => isOver, answers, failures)),
      ]
      for (const fault of faults) {
        await fault()
        await wait(phaseMs)
      }
      // On a busy machine the phases alone may be too short for a proof.
      await waitUntil('100 answers and 20 writes', () => answers.length > 100 && writes.length > 20)
      isOver = true
      await Promise.all(work)
      const log = await readLog(first)
      const wrong = findWrongAnswers(log, writes, answers)
      t.diagnostic(
        `${answers.length} answers, ${writes.length} writes, ${failures.length} refused during faults`,
      )
      assert.deepEqual(wrong.slice(0, 3), [], `${wrong.length} wrong answers`)
    },
  )
})

async function readLog({ database: { sql }, store: { tenantId } }: Service): Promise<LogEntry[]> {
  return await sql<LogEntry[]>`
    select revision, kind, entity_id as container, data ->> 'id' as member from change_log
    where tenant_id = ${tenantId} and kind in ('memberAdded', 'memberRemoved') order by revision`
}
