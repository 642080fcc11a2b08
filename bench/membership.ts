// How much of the server's own speed getMemberGroups reaches: requests per second over HTTP with a token, as a ratio to
// the same server answering a constant body of the same size to the same token; and how much of bare Fastify that constant
// answer reaches. 100,000 users, 10,000 groups on 8 levels, about 40 groups in an answer.
// Run: npm run bench bench/membership.ts [users] [rounds]
import { spawn } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { json } from 'node:stream/consumers'
import fastify from 'fastify'
import pino from 'pino'
import { Type } from 'typebox'
import { ok } from '../src/api/operation.ts'
import { appendChanges } from '../src/db/change-log.ts'
import type { Query } from '../src/db/query.ts'
import { checkMemberGroups } from '../src/directory/membership/check-member-groups.ts'
import { explainMembership } from '../src/directory/membership/explain-membership.ts'
import { getMemberGroups } from '../src/directory/membership/get-member-groups.ts'
import { operation } from '../src/directory/operation.ts'
import { getMemberGroupsPermissions } from '../src/directory/permissions.ts'
import { createMetrics } from '../src/http/metrics.ts'
import { buildHttp } from '../src/http/server.ts'
import { type Service, startService } from '../src/main.ts'
import { readSettings } from '../src/settings.ts'
import { createTokens } from '../test/support/tokens.ts'
import type { LoadPlan, LoadResult } from './load.ts'

const userCount = Number(process.argv[2] ?? 100_000)
const levels = 8
const groupsPerLevel = userCount / 80
const directGroupsPerUser = 4
const connections = 16
const secondsPerRound = 4
const rounds = Number(process.argv[3] ?? 5)
const writesPerSecond = 100

/** Every group is in one of the next level, every tenth in two; users are in groups of the lowest level. */
async function fill(sql: Query, tenantId: string): Promise<void> {
  const groups = levels * groupsPerLevel
  await sql`
    insert into directory_object (tenant_id, id, kind, properties)
    select ${tenantId}, md5('group' || n)::uuid, 'group', jsonb_build_object(
      'displayName', 'Group ' || n, 'mailNickname', 'group' || n, 'groupTypes', '[]'::jsonb,
      'securityEnabled', n % 2 = 0, 'mailEnabled', n % 2 = 1)
    from generate_series(0, ${groups - 1}::int) as n`
  await sql`
    insert into member_edge (tenant_id, container_id, member_id)
    select distinct ${tenantId}::uuid, md5('group' || ((n / ${groupsPerLevel}::int + 1) * ${groupsPerLevel}::int
        + (hashint4(n * 7 + k) & 2147483647) % ${groupsPerLevel}::int))::uuid, md5('group' || n)::uuid
    from generate_series(0, ${groups - groupsPerLevel - 1}::int) as n, generate_series(1, 2) as k
    where k = 1 or n % 10 = 0`
  for (let first = 1; first <= userCount; first += 10_000) {
    const last = first + 9_999
    await sql`
      insert into directory_object (tenant_id, id, kind, properties)
      select ${tenantId}, md5('user' || n)::uuid, 'user', jsonb_build_object(
        'displayName', 'User ' || n, 'userPrincipalName', 'user' || n || '@example.com', 'accountEnabled', true)
      from generate_series(${first}::int, ${last}::int) as n`
    await sql`
      insert into member_edge (tenant_id, container_id, member_id)
      select distinct ${tenantId}::uuid,
        md5('group' || (hashint4(n * 31 + k) & 2147483647) % ${groupsPerLevel}::int)::uuid, md5('user' || n)::uuid
      from generate_series(${first}::int, ${last}::int) as n, generate_series(1, ${directGroupsPerUser}::int) as k`
  }
  await sql`vacuum analyze directory_object, member_edge`
}

function answerConstant(body: () => string) {
  return operation({
    name: 'answerConstant',
    clause: 'DIR-38',
    summary: 'The same answer every time',
    method: 'POST',
    path: '/constant/:id',
    permission: { row: getMemberGroupsPermissions.user },
    reads: true,
    body: Type.Object({ securityEnabledOnly: Type.Boolean() }),
    answers: { 200: Type.Unknown() },
    run: async () => ok(body()),
  })
}

/** The membership actions and the constant answer behind one port. */
async function serve({ database, auth, memberships }: Service, body: () => string) {
  const operations = [...getMemberGroups, ...checkMemberGroups, explainMembership, answerConstant(body)]
  const { handler } = await buildHttp(
    {
      runner: { database, gatekeeper: auth.gatekeeper, requireRoom() {} },
      rooms: [{ operations, ports: { graph: memberships.graph } }],
      log: pino({ level: 'silent' }),
      metrics: createMetrics(),
      headers: {},
      accepting: () => true,
    },
    async () => {},
  )
  const server = createServer(handler)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return { server, port: (server.address() as AddressInfo).port }
}

async function load(plan: LoadPlan): Promise<LoadResult> {
  const child = spawn(process.execPath, [path.join(import.meta.dirname, 'load.ts')], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  child.stdin.end(JSON.stringify(plan))
  return (await json(child.stdout)) as LoadResult
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN
}

function show(name: string, results: readonly LoadResult[]): number {
  const rate = median(results.map(({ requestsPerSecond }) => requestsPerSecond))
  const [ms, p99, bytes] = (['medianMs', 'p99Ms', 'bytesPerAnswer'] as const).map((key) =>
    median(results.map((result) => result[key])),
  )
  console.log(
    `${name}: ${rate.toFixed(0)} requests/s, median ${ms?.toFixed(2)} ms, 99% ${p99?.toFixed(2)} ms, ${bytes?.toFixed(0)} bytes`,
  )
  return rate
}

/** The same constant body from Fastify alone: no token, no operation. */
async function serveBare(body: () => string) {
  const app = fastify({ logger: false })
  app.post('/constant/:id', async (_request, reply) => {
    reply.header('content-type', 'application/json')
    return body()
  })
  await app.listen({ port: 0, host: '127.0.0.1' })
  return { app, port: (app.server.address() as AddressInfo).port }
}

/** Adds and removes members through the change log, as other nodes do. */
function writeMemberships({ database, store: { tenantId } }: Service, users: readonly string[]) {
  let turn = 0
  const timer = setInterval(() => {
    const member = users[turn++ % users.length] ?? ''
    void database.transaction(async (tx) => {
      const [group] = await tx<
        { id: string }[]
      >`select md5('group' || ${turn % groupsPerLevel}::int)::uuid as id`
      const container = group?.id ?? ''
      const { count } = await tx`
        insert into member_edge (tenant_id, container_id, member_id)
        values (${tenantId}, ${container}, ${member}) on conflict do nothing`
      if (count === 0)
        await tx`delete from member_edge where tenant_id = ${tenantId} and container_id = ${container}
          and member_id = ${member}`
      const kind = count === 0 ? 'memberRemoved' : 'memberAdded'
      await appendChanges(tx, tenantId, [
        { entity: 'group', entityId: container, kind, data: { id: member } },
      ])
    })
  }, 1000 / writesPerSecond)
  return () => clearInterval(timer)
}

/** The load begins when the first question notices that the directory was filled past the service. */
async function showIndex({ memberships, store: { tenantId } }: Service): Promise<void> {
  await memberships.settled()
  const startedAt = performance.now()
  await memberships.graph.groupsOf(tenantId, tenantId)
  await memberships.settled()
  const seconds = (performance.now() - startedAt) / 1000
  const { objects, edges, bytes } = memberships.size()
  const megabytes = (bytes / 1e6).toFixed(1)
  console.log(`index: ${objects} objects, ${edges} edges, ${megabytes} MB, loaded in ${seconds.toFixed(2)} s`)
}

async function measure(service: Service): Promise<void> {
  const tokens = await createTokens(service)
  const token = tokens.tokenFor({ permissions: ['Directory.Read.All'] })
  await tokens.settled()
  await fill(service.database.sql, service.store.tenantId)
  const rows = await service.database.sql<{ id: string }[]>`
    select id from directory_object where kind = 'user' and user_principal_name like 'user%' order by md5(id::text) limit 5000`
  const users = rows.map(({ id }) => id)
  await showIndex(service)
  let constant = ''
  const { server, port } = await serve(service, () => constant)
  const bare = await serveBare(() => constant)
  const common = { port, token, connections, seconds: secondsPerRound }
  const body = JSON.stringify({ securityEnabledOnly: false })
  const plans = {
    getMemberGroups: { ...common, body, paths: users.map((id) => `/v1.0/users/${id}/getMemberGroups`) },
    constant: { ...common, body, paths: ['/v1.0/constant/1'] },
    'bare Fastify': { ...common, port: bare.port, body, paths: ['/constant/1'] },
    checkMemberGroups: {
      ...common,
      body: JSON.stringify({ groupIds: users.slice(0, 20) }),
      paths: users.map((id) => `/v1.0/users/${id}/checkMemberGroups`),
    },
  }
  const first = await load(plans.getMemberGroups)
  constant = JSON.stringify('x'.repeat(Math.round(first.bytesPerAnswer) - 2))
  await load({ ...plans.constant, seconds: 1 })
  const results = new Map<string, LoadResult[]>()
  const take = async (name: string, plan: LoadPlan) =>
    results.set(name, [...(results.get(name) ?? []), await load(plan)])
  for (let round = 0; round < rounds; round++) {
    for (const [name, plan] of Object.entries(plans)) await take(name, plan)
    const stop = writeMemberships(service, users)
    await take('with writes', plans.getMemberGroups)
    stop()
  }
  server.close()
  await bare.app.close()
  const rates = Object.fromEntries([...results].map(([name, list]) => [name, show(name, list)]))
  const ratio = (a: string, b: string) => ((rates[a] ?? 0) / (rates[b] ?? 1)).toFixed(2)
  console.log(`ratio: ${ratio('getMemberGroups', 'constant')} of the constant answer`)
  console.log(`ratio: ${ratio('constant', 'bare Fastify')} of bare Fastify for the constant answer`)
  console.log(
    `ratio: ${ratio('with writes', 'getMemberGroups')} of the quiet rate with ${writesPerSecond} writes/s`,
  )
  console.log(`ratio: ${ratio('checkMemberGroups', 'constant')} of the constant answer for checkMemberGroups`)
}

const dataDir = await mkdtemp(path.join(tmpdir(), 'masquerade-bench-'))
const settings = readSettings({
  MASQUERADE_DATA_DIR: dataDir,
  MASQUERADE_HTTP_PORT: '0',
  MASQUERADE_HTTPS_PORT: '0',
  MASQUERADE_GATEWAY_PORT: '0',
  MASQUERADE_RATE_LIMIT: '0',
  MASQUERADE_DEMO: '0',
})
const service = await startService({ settings, log: pino({ level: 'silent' }) })
try {
  await measure(service)
} finally {
  await service.stop()
  await rm(dataDir, { recursive: true, force: true })
}
