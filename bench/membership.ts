// How much of the server's own speed getMemberGroups reaches: requests per second over HTTP with a token, as a ratio to
// the same server answering a constant body of the same size to the same token; and how much of bare Fastify that constant
// answer reaches. 100,000 users, 10,000 groups on 8 levels, about 40 groups in an answer. Several numbers of users are
// several services, measured in turns.
// Run: npm run bench bench/membership.ts [users[,users…]] [rounds] [seconds per round]
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { availableParallelism } from 'node:os'
import path from 'node:path'
import fastify from 'fastify'
import pino from 'pino'
import { Type } from 'typebox'
import { ok } from '../src/api/operation.ts'
import { checkMemberGroups } from '../src/directory/membership/check-member-groups.ts'
import { explainMembership } from '../src/directory/membership/explain-membership.ts'
import { getMemberGroups } from '../src/directory/membership/get-member-groups.ts'
import { operation } from '../src/directory/operation.ts'
import { getMemberGroupsPermissions } from '../src/directory/permissions.ts'
import { createMetrics } from '../src/http/metrics.ts'
import { buildHttp } from '../src/http/server.ts'
import type { Service } from '../src/main.ts'
import { createTokens } from '../test/support/tokens.ts'
import { fillDirectory } from './fill-directory.ts'
import type { LoadPlan, LoadResult } from './load.ts'
import { median } from './median.ts'
import { openLoad } from './open-load.ts'
import { openService } from './open-service.ts'
import type { WritePlan } from './write-memberships.ts'

const sizes = (process.argv[2] ?? '100000').split(',').map(Number)
const connections = 16
const secondsPerRound = Number(process.argv[4] ?? 1)
const rounds = Number(process.argv[3] ?? 20)
const writesPerSecond = 100

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
      rooms: [{ operations, ports: { graph: memberships.graph }, parameters: {} }],
      log: pino({ level: 'silent' }),
      metrics: createMetrics(),
      headers: {},
      isTrustedProxy: () => false,
      accepting: () => true,
    },
    async () => {},
  )
  const server = createServer(handler)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return { server, port: (server.address() as AddressInfo).port }
}

interface Measured extends LoadResult {
  /** Processor time of the server for each request: it scatters less than rates where others use the machine. */
  readonly cpuMicroseconds: number
}

function show(name: string, results: readonly Measured[]): void {
  const at = (key: keyof Measured) => median(results.map((result) => result[key]))
  const [rate, ms, p99, cpu] = [at('requestsPerSecond'), at('medianMs'), at('p99Ms'), at('cpuMicroseconds')]
  console.log(
    `${name}: ${rate.toFixed(0)} requests/s, median ${ms.toFixed(2)} ms, 99% ${p99.toFixed(2)} ms, ${at('bytesPerAnswer').toFixed(0)} bytes, ${cpu.toFixed(1)} µs of a core`,
  )
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

/** A service with a directory of one size, and the requests that measure it. */
interface Place {
  readonly service: Service
  readonly userCount: number
  readonly plans: Readonly<Record<string, LoadPlan>>
  readonly writer: Awaited<ReturnType<typeof openWriter>>
  close(): Promise<void>
}

/** Another node that writes, while it is started. */
async function openWriter({ store: { server, tenantId }, database }: Service, users: readonly string[]) {
  const rows = await database.sql<{ id: string }[]>`
    select id from directory_object where kind = 'group' order by id limit 1000`
  const groups = rows.map(({ id }) => id)
  const child = spawn(process.execPath, [path.join(import.meta.dirname, 'write-memberships.ts')], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const plan: WritePlan = { url: server?.url ?? '', tenantId, users, groups, writesPerSecond }
  child.stdin.write(`${JSON.stringify(plan)}\n`)
  await once(child.stdout, 'data')
  return {
    start: () => void child.stdin.write('start\n'),
    stop: () => void child.stdin.write('stop\n'),
    close: () => void child.kill(),
  }
}

/** A write past the service makes the node load the index anew. */
async function showIndex({ database, memberships, store: { tenantId } }: Service): Promise<void> {
  await memberships.settled()
  const startedAt = performance.now()
  await database.sql`delete from member_edge where false`
  await memberships.graph.groupsOf(tenantId, tenantId)
  await memberships.settled()
  const seconds = (performance.now() - startedAt) / 1000
  const { objects, edges, bytes, edgeBytes } = memberships.size()
  console.log(
    `index: ${objects} objects, ${edges} edges, ${(bytes / 1e6).toFixed(1)} MB, ${((bytes - edgeBytes) / objects).toFixed(1)} bytes per object, ${(edgeBytes / edges).toFixed(1)} per edge, loaded in ${seconds.toFixed(2)} s`,
  )
}

async function readCounts({ listeners }: Service): Promise<{ answers: number; checks: number }> {
  const response = await fetch(`${listeners.httpOrigin}/metrics`)
  const text = await response.text()
  const read = (pattern: RegExp) => Number(pattern.exec(text)?.[1] ?? 0)
  return {
    answers: read(/^masquerade_membership_answers_total\{source="memory"\} (\d+)$/m),
    checks: read(/^masquerade_membership_checks_total (\d+)$/m),
  }
}

/** A chain to explain for each user: to the group that is furthest from it. */
async function chooseChains({ memberships, store: { tenantId } }: Service, users: readonly string[]) {
  return await Promise.all(
    users.map(async (id) => {
      const groupId = (await memberships.graph.groupsOf(tenantId, id)).at(-1)
      return JSON.stringify({ groupId })
    }),
  )
}

async function open(userCount: number): Promise<Place> {
  const service = await openService()
  const tokens = await createTokens(service)
  const token = tokens.tokenFor({ permissions: ['Directory.Read.All'] })
  await tokens.settled()
  const { sql } = service.database
  await service.database.transaction((tx) => fillDirectory(tx, service.store.tenantId, userCount))
  await sql`vacuum analyze directory_object, member_edge`
  const rows = await sql<{ id: string }[]>`
    select id from directory_object where kind = 'user' and user_principal_name like 'user%' order by md5(id::text) limit 5000`
  const users = rows.map(({ id }) => id)
  await showIndex(service)
  let constant = ''
  const { server, port } = await serve(service, () => constant)
  const bare = await serveBare(() => constant)
  const bodies = [JSON.stringify({ securityEnabledOnly: false })]
  const common = { port, token, connections, seconds: secondsPerRound, bodies }
  const plans = {
    getMemberGroups: { ...common, paths: users.map((id) => `/v1.0/users/${id}/getMemberGroups`) },
    constant: { ...common, paths: ['/v1.0/constant/1'] },
    'bare Fastify': { ...common, port: bare.port, paths: ['/constant/1'] },
    checkMemberGroups: {
      ...common,
      bodies: [JSON.stringify({ groupIds: users.slice(0, 20) })],
      paths: users.map((id) => `/v1.0/users/${id}/checkMemberGroups`),
    },
    explainMembership: {
      ...common,
      bodies: await chooseChains(service, users),
      paths: users.map((id) => `/v1.0/directoryObjects/${id}/explainMembership`),
    },
  }
  const first = await load.run(plans.getMemberGroups)
  constant = JSON.stringify('x'.repeat(Math.round(first.bytesPerAnswer) - 2))
  await load.run({ ...plans.constant, seconds: 1 })
  const writer = await openWriter(service, users)
  return {
    service,
    userCount,
    plans,
    writer,
    async close() {
      writer.close()
      server.close()
      await bare.app.close()
      await service.close()
    },
  }
}

async function measure(places: readonly Place[]): Promise<void> {
  const results = new Map<string, Measured[]>()
  const take = async (name: string, plan: LoadPlan | undefined) => {
    if (!plan) return
    const before = process.cpuUsage()
    const result = await load.run(plan)
    const { user, system } = process.cpuUsage(before)
    const cpuMicroseconds = (user + system) / (result.requestsPerSecond * plan.seconds)
    results.set(name, [...(results.get(name) ?? []), { ...result, cpuMicroseconds }])
  }
  const perCheck: number[] = []
  for (let round = 0; round < rounds; round++)
    for (const [at, place] of places.entries()) {
      const { plans, service } = place
      if (at > 0) await take(`getMemberGroups, ${place.userCount} users`, plans.getMemberGroups)
      else {
        const before = await readCounts(service)
        for (const [name, plan] of Object.entries(plans)) {
          await take(name, plan)
          if (name !== 'getMemberGroups') continue
          const counts = await readCounts(service)
          perCheck.push((counts.answers - before.answers) / (counts.checks - before.checks))
        }
        place.writer.start()
        await take('with writes', plans.getMemberGroups)
        place.writer.stop()
      }
    }
  for (const [name, list] of results) show(name, list)
  showRatios(results)
  console.log(`${median(perCheck).toFixed(1)} answers per check of the revision`)
}

/** Medians of the ratios of single rounds: what else the machine does changes both sides of a round alike. */
function showRatios(results: ReadonlyMap<string, readonly Measured[]>): void {
  const ratio = (a: string, b: string, key: keyof Measured = 'requestsPerSecond') => {
    const [above = [], below = []] = [results.get(a), results.get(b)]
    return median(above.map((one, round) => one[key] / (below[round]?.[key] ?? Number.NaN))).toFixed(2)
  }
  console.log(`ratio: ${ratio('getMemberGroups', 'constant')} of the constant answer`)
  console.log(`ratio: ${ratio('constant', 'bare Fastify')} of bare Fastify for the constant answer`)
  console.log(`ratio: ${ratio('getMemberGroups', 'constant', 'p99Ms')} of its 99th percentile`)
  console.log(
    `ratio: ${ratio('with writes', 'getMemberGroups')} of the quiet rate with ${writesPerSecond} writes/s`,
  )
  for (const name of ['checkMemberGroups', 'explainMembership'])
    console.log(`ratio: ${ratio(name, 'constant')} of the constant answer for ${name}`)
  for (const name of results.keys())
    if (name.startsWith('getMemberGroups,'))
      console.log(`ratio: ${ratio(name, 'getMemberGroups')} of the rate with ${sizes[0]} users for ${name}`)
}

/** A service whose requests so many processes answer. */
async function openWorkers(userCount: number, httpWorkers: number) {
  const service = await openService({ httpWorkers })
  const tokens = await createTokens(service)
  const token = tokens.tokenFor({ permissions: ['Directory.Read.All'] })
  await tokens.settled()
  await service.database.transaction((tx) => fillDirectory(tx, service.store.tenantId, userCount))
  const { sql } = service.database
  await sql`vacuum analyze directory_object, member_edge`
  const rows = await sql<{ id: string }[]>`
    select id from directory_object where kind = 'user' and user_principal_name like 'user%' order by md5(id::text) limit 5000`
  const plan: LoadPlan = {
    port: service.listeners.httpPort,
    token,
    connections,
    seconds: secondsPerRound,
    bodies: [JSON.stringify({ securityEnabledOnly: false })],
    paths: rows.map(({ id }) => `/v1.0/users/${id}/getMemberGroups`),
  }
  // Each process loads its own memberships.
  for (let warm = 0; warm < 3; warm++) await load.run({ ...plan, seconds: 1 })
  return { plan, close: () => service.close() }
}

/** One process against one for each core, in turns. */
async function measureWorkers(userCount: number): Promise<void> {
  const cores = availableParallelism()
  if (cores === 1) return console.log('skipped: one core has none to spare for another process')
  const [one, many] = [await openWorkers(userCount, 1), await openWorkers(userCount, cores)]
  try {
    const rates: { readonly alone: number; readonly together: number }[] = []
    for (let round = 0; round < rounds; round++) {
      const alone = (await load.run(one.plan)).requestsPerSecond
      rates.push({ alone, together: (await load.run(many.plan)).requestsPerSecond })
    }
    const together = median(rates.map((rate) => rate.together))
    const ratio = median(rates.map((rate) => rate.together / rate.alone))
    console.log(
      `getMemberGroups, ${cores} processes: ${together.toFixed(0)} requests/s, ${(together / cores).toFixed(0)} per process; one: ${median(rates.map(({ alone }) => alone)).toFixed(0)}`,
    )
    console.log(
      `ratio: ${ratio.toFixed(2)} of one process for ${cores}, on ${cores} cores with the load itself`,
    )
  } finally {
    await one.close()
    await many.close()
  }
}

const load = openLoad()
const places: Place[] = []
try {
  for (const size of sizes) places.push(await open(size))
  await measure(places)
  await measureWorkers(sizes[0] ?? 0)
} finally {
  for (const place of places) await place.close()
  load.close()
}
