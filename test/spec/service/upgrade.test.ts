import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe } from 'node:test'
import pg from 'pg'
import { readMigrations } from '../../../src/db/migrate.ts'
import { clause } from '../../support/clause.ts'
import { runCommand, startCommand } from '../../support/command.ts'
import { findLastRelease, unpackRelease } from '../../support/last-release.ts'
import { bindingOf, createMaskedDatabase } from '../../support/masked-database.ts'
import { apiVersion, freshDatabase, policyUrl, ruleUrl } from '../../support/masking.ts'
import { createEmptyDatabase } from '../../support/postgres.ts'
import { waitUntil } from '../../support/wait-until.ts'

const tag = findLastRelease()
const isAll = process.env.MASQUERADE_TEST_ALL !== undefined
const noTag = tag === undefined && 'this checkout has no release in its history: git fetch --unshallow --tags'
const skip = isAll ? noTag : 'four nodes, one after the other, each with a load: npm run test:all'
/** Rounds of the load that each set of nodes serves before the next step. */
const rounds = 15

interface Node {
  readonly name: string
  readonly origin: string
  readonly gatewayPort: number
  stop(): Promise<number | null>
}

describe(`a rolling upgrade from ${tag}`, { skip }, () => {
  clause(
    'SVC-80',
    'Nodes of the last release keep working over a store that this version has migrated: no request fails during a rolling upgrade. …',
    () => upgrade(tag ?? ''),
  )
})

async function upgrade(release: string): Promise<void> {
  using old = unpackRelease(release)
  await using store = await createEmptyDatabase()
  await using masked = await createMaskedDatabase()
  const folder = await mkdtemp(join(tmpdir(), 'masquerade-upgrade-'))
  const keyFile = join(folder, 'secret.key')
  await writeFile(keyFile, randomBytes(32).toString('base64'), { mode: 0o600 })
  const environmentOf = (name: string) => ({
    MASQUERADE_DATA_DIR: join(folder, name),
    MASQUERADE_DATABASE_URL: store.url,
    MASQUERADE_SECRET_KEY_FILE: keyFile,
    MASQUERADE_PUBLIC_URL: 'https://masquerade.example',
    MASQUERADE_HTTP_PORT: '0',
    MASQUERADE_HTTPS_PORT: '0',
    MASQUERADE_GATEWAY_PORT: '0',
    MASQUERADE_RATE_LIMIT: '0',
  })
  const started: { child: { kill(signal: NodeJS.Signals): boolean } }[] = []
  const start = async (name: string, program?: string): Promise<Node> => {
    const service = startCommand(['serve'], environmentOf(name), program)
    started.push(service)
    await service.waitFor(/Ctrl\+C/)
    const run = JSON.parse(await readFile(join(folder, name, 'run.json'), 'utf8'))
    return {
      name,
      origin: `http://127.0.0.1:${run.httpPort}`,
      gatewayPort: run.gatewayPort,
      async stop() {
        service.child.kill('SIGTERM')
        return (await service.ended).code
      },
    }
  }
  try {
    const nodes: Node[] = [await start('old-1', old.program), await start('old-2', old.program)]
    const token = (await runCommand(['token', '--admin'], environmentOf('old-1'), old.program)).stdout.trim()
    await using load = await startLoad(nodes, token, masked)
    await load.serves(rounds)

    const news = readMigrations().slice(old.migrations.length)
    const check = await runCommand(['migrate', '--check', '--json'], environmentOf('old-1'))
    assert.equal(check.code, news.length > 0 ? 4 : 0, check.stderr)
    assert.equal(JSON.parse(check.stdout).pending.length, news.length)

    // Each new node joins the old ones, which then leave: first the proxy, then the machine.
    for (const name of ['new-1', 'new-2']) {
      nodes.push(await start(name))
      await load.serves(rounds)
      const leaving = nodes.shift()
      await load.idle(leaving?.name ?? '')
      assert.equal(await leaving?.stop(), 0)
      await load.serves(rounds)
    }
    const { failures, counts, groups } = await load.stop()
    assert.deepEqual(failures, [])
    for (const name of ['old-1', 'old-2', 'new-1', 'new-2'])
      assert.ok((counts.get(name) ?? 0) >= rounds, `${name} served ${counts.get(name)} rounds`)
    const headers = { authorization: `Bearer ${token}` }
    for (const id of groups) {
      const answer = await fetch(`${nodes[0]?.origin}/v1.0/groups/${id}/members`, { headers })
      assert.equal(((await answer.json()) as { value: unknown[] }).value.length, 1, id)
    }
    if (news.length > 0) {
      const refused = await runCommand(['serve'], environmentOf('old-1'), old.program)
      assert.equal(refused.code, 1)
      const [first] = news
      assert.match(
        refused.stderr,
        new RegExp(`newer than this version: it has migration 0*${first?.number}-${first?.name}`),
      )
    }
    for (const node of nodes) assert.equal(await node.stop(), 0)
  } finally {
    for (const { child } of started) child.kill('SIGKILL')
    await rm(folder, { recursive: true, force: true })
  }
}

/** Rounds of every kind of request, four at a time, each at the next of the nodes that are in the list by then. */
async function startLoad(
  nodes: readonly Node[],
  token: string,
  masked: Awaited<ReturnType<typeof createMaskedDatabase>>,
) {
  const analyst = await masked.createRole('analyst')
  await masked.database.sql.unsafe(`
    create table customers (id int primary key, email text, phone text);
    insert into customers values (1, 'ann@example.com', '12345');
    grant select on customers to "${analyst}"`)
  const db = freshDatabase()
  const failures: string[] = []
  const counts = new Map<string, number>()
  const busy = new Map<string, number>()
  const groups: string[] = []
  let isDone = false
  let served = 0

  const send = async (node: Node, method: string, path: string, body?: object, status = 200) => {
    const answer = await fetch(node.origin + path, {
      method,
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      ...(body && { body: JSON.stringify(body) }),
    })
    const text = await answer.text()
    if (answer.status !== status) throw new Error(`${method} ${path}: ${answer.status} ${text}`)
    return text === '' ? {} : JSON.parse(text)
  }
  const [first] = nodes
  if (!first) throw new Error('there is no node')
  await send(first, 'PUT', `${db.replace(/\/databases\/.*/, '')}?${apiVersion}`, {}, 201)
  await send(first, 'PUT', `${db}?${apiVersion}`, { properties: { binding: bindingOf(masked.url) } }, 201)
  const policy = { properties: { dataMaskingState: 'Enabled', exemptPrincipals: '' } }
  await send(first, 'PUT', `${policyUrl(db)}?${apiVersion}`, policy)
  const ruleOf = (columnName: string, maskingFunction: string) => ({
    properties: { schemaName: 'public', tableName: 'customers', columnName, maskingFunction },
  })
  await send(first, 'PUT', `${ruleUrl(db, 'email')}?${apiVersion}`, ruleOf('email', 'Email'), 201)
  await send(first, 'PUT', `${ruleUrl(db, 'phone')}?${apiVersion}`, ruleOf('phone', 'Default'), 201)
  const { id: member } = await send(first, 'GET', '/v1.0/me')

  const serveRound = async (node: Node, round: string) => {
    const name = `g${round}`
    const { id } = await send(
      node,
      'POST',
      '/v1.0/groups',
      {
        displayName: name,
        mailNickname: name,
        mailEnabled: false,
        securityEnabled: true,
        'members@odata.bind': [`${node.origin}/v1.0/directoryObjects/${member}`],
      },
      201,
    )
    groups.push(id)
    await send(node, 'PATCH', `/v1.0/groups/${id}`, { description: round }, 204)
    const found = await send(node, 'POST', `/v1.0/users/${member}/getMemberGroups`, {
      securityEnabledOnly: false,
    })
    if (!found.value.includes(id)) throw new Error(`${node.name}: the membership is missing`)
    await send(node, 'GET', '/v1.0/auditLogs/directoryAudits?$top=5')
    await send(node, 'GET', `${db}/auditEvents?${apiVersion}&$top=5`)
    await send(node, 'GET', '/v1.0/groups/delta?$top=5')
    const kind = round.length % 2 === 0 ? 'Default' : 'Text'
    const replacement = { prefixSize: '0', suffixSize: '0', replacementString: '*' }
    const { properties } = ruleOf('phone', kind)
    const rule = { properties: kind === 'Text' ? { ...properties, ...replacement } : properties }
    await send(node, 'PUT', `${ruleUrl(db, 'phone')}?${apiVersion}`, rule)
    const client = new pg.Client({
      host: '127.0.0.1',
      port: node.gatewayPort,
      user: analyst,
      password: 'secret',
      database: db.replace(/^.*\//, ''),
    })
    client.on('error', () => {})
    await client.connect()
    const { rows } = await client.query('select email from customers')
    await client.end()
    if (!/XXX@XXXX\.com$/.test(rows[0]?.email)) throw new Error(`${node.name} showed ${rows[0]?.email}`)
  }

  let turn = 0
  const work = async (worker: number) => {
    for (let round = 0; !isDone; round++) {
      const node = nodes[turn++ % nodes.length]
      if (!node) throw new Error('there is no node')
      busy.set(node.name, (busy.get(node.name) ?? 0) + 1)
      try {
        await serveRound(node, `${worker}-${round}`)
        counts.set(node.name, (counts.get(node.name) ?? 0) + 1)
      } catch (error) {
        failures.push(`${node.name}: ${error instanceof Error ? error.message : error}`)
      }
      busy.set(node.name, (busy.get(node.name) ?? 1) - 1)
      served++
    }
  }
  const workers = [0, 1, 2, 3].map(work)
  const stop = async () => {
    isDone = true
    await Promise.all(workers)
    return { failures, counts, groups }
  }
  return {
    stop,
    /** Resolves when so many more rounds have been served by the nodes of now, each of them. */
    async serves(more: number) {
      const goal = served + more * nodes.length
      await waitUntil('the load is served', () => served >= goal, { withinMs: 300_000 })
    },
    /** Resolves when a node that left the list has answered everything. */
    idle: (name: string) => waitUntil('the node is idle', () => (busy.get(name) ?? 0) === 0),
    async [Symbol.asyncDispose]() {
      await stop()
    },
  }
}
