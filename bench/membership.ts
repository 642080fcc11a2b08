// How much of the server's own speed getMemberGroups reaches: requests per second over HTTP with a token, as a ratio to
// the same server answering a constant body of the same size to the same token. 100,000 users, 10,000 groups on 8
// levels, about 40 groups in an answer. Run: node bench/membership.ts
import { spawn } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { json } from 'node:stream/consumers'
import pino from 'pino'
import { Type } from 'typebox'
import { ok } from '../src/api/operation.ts'
import type { Query } from '../src/db/query.ts'
import { getMemberGroups } from '../src/directory/membership/get-member-groups.ts'
import { createSqlGraph } from '../src/directory/membership/sql-graph.ts'
import { operation } from '../src/directory/operation.ts'
import { getMemberGroupsPermissions } from '../src/directory/permissions.ts'
import { createMetrics } from '../src/http/metrics.ts'
import { buildHttp } from '../src/http/server.ts'
import { type Service, startService } from '../src/main.ts'
import { readSettings } from '../src/settings.ts'
import { createTokens } from '../test/support/tokens.ts'
import type { LoadPlan, LoadResult } from './load.ts'

const userCount = 100_000
const levels = 8
const groupsPerLevel = 1_250
const directGroupsPerUser = 4
const connections = 16
const secondsPerRound = 4
const rounds = 5

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

/** getMemberGroups and the constant answer behind one port. */
async function serve({ database, auth }: Service, body: () => string) {
  const operations = [...getMemberGroups, answerConstant(body)]
  const { handler } = await buildHttp(
    {
      runner: { database, gatekeeper: auth.gatekeeper },
      rooms: [{ operations, ports: { graph: createSqlGraph(database.sql) } }],
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

async function measure(service: Service): Promise<void> {
  const tokens = await createTokens(service)
  const token = tokens.tokenFor({ permissions: ['Directory.Read.All'] })
  await fill(service.database.sql, service.store.tenantId)
  const ids = await service.database.sql<{ id: string }[]>`
    select id from directory_object where kind = 'user' and user_principal_name like 'user%' order by md5(id::text) limit 5000`
  let constant = ''
  const { server, port } = await serve(service, () => constant)
  const body = JSON.stringify({ securityEnabledOnly: false })
  const common = { port, token, body, connections }
  const ofUsers = { ...common, paths: ids.map(({ id }) => `/v1.0/users/${id}/getMemberGroups`) }
  const ofConstant = { ...common, paths: ['/v1.0/constant/1'] }
  const first = await load({ ...ofUsers, seconds: secondsPerRound })
  constant = JSON.stringify('x'.repeat(Math.round(first.bytesPerAnswer) - 2))
  await load({ ...ofConstant, seconds: 1 })
  const [lookups, constants]: [LoadResult[], LoadResult[]] = [[], []]
  for (let round = 0; round < rounds; round++) {
    lookups.push(await load({ ...ofUsers, seconds: secondsPerRound }))
    constants.push(await load({ ...ofConstant, seconds: secondsPerRound }))
  }
  server.close()
  const rate = show('getMemberGroups', lookups)
  const base = show('constant answer', constants)
  console.log(`ratio: ${(rate / base).toFixed(2)}`)
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
