// The cost of turns: the same views, REVOKEs and GRANTs by hand and by the service, on the same server, in turns. First the turn that
// masks 1,000 tables of 10 columns by 2,000 rules, then one rule among 1,000 and among 10 masked tables; then the PUT of a rule over
// HTTP until it is enforced, and the processor time of the service and its PostgreSQL with nothing to do.
// Run: npm run bench bench/turn.ts
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { type Database, openDatabase } from '../src/db/database.ts'
import { startEmbedded } from '../src/db/embedded.ts'
import type { Policy, Rule } from '../src/masks/policy.ts'
import { takeTurn } from '../src/masks/turn.ts'
import { startClusters, templateName } from '../test/support/cluster.ts'
import { median } from './median.ts'

const tables = 1000
const rounds = 5
const nothing = {
  numberFrom: null,
  numberTo: null,
  prefixSize: null,
  suffixSize: null,
  replacementString: null,
}

const writeRule = (table: string, column: string, maskingFunction: Rule['maskingFunction']): Rule => ({
  ...{ ...nothing, name: `${table}-${column}`, schema: 'public', table, column, maskingFunction },
})
const writePolicy = (count: number, first: Rule['maskingFunction'] = 'Default'): Policy => ({
  rules: Array.from({ length: count }, (_, at) => [
    writeRule(`t${at}`, 'c0', at === 0 ? first : 'Default'),
    writeRule(`t${at}`, 'c1', 'Default'),
  ]).flat(),
  exemptRoles: [],
  suspended: [],
})

async function createTables({ sql }: Database): Promise<void> {
  const columns = Array.from({ length: 10 }, (_, at) => `c${at} text`).join(', ')
  for (let at = 0; at < tables; at++)
    await sql.unsafe(
      `create table public.t${at} (${columns}); grant select on public.t${at} to bench_reader, public`,
    )
}

const mask = (column: string) => `case when t.${column} is null then null::text else 'XXXX' end as ${column}`
const open = Array.from({ length: 8 }, (_, at) => `c${at + 2}`).join(', ')

/** What an administrator writes for one table. */
const writeByHand = (at: number): string => `
  create view hand.t${at} with (security_barrier) as select ${mask('c0')}, ${mask('c1')}, ${open} from public.t${at} t;
  revoke select on public.t${at} from bench_reader, public;
  grant select (${open}) on public.t${at} to bench_reader, public;
  grant select on hand.t${at} to bench_reader, public`

const undoByHand = (at: number): string =>
  `drop view hand.t${at}; grant select on public.t${at} to bench_reader, public`

async function time(run: () => Promise<unknown>): Promise<number> {
  const start = performance.now()
  await run()
  return performance.now() - start
}

/** All in one transaction, table by table, as a script does. */
function runByHand(database: Database, write: (at: number) => string): Promise<void> {
  return database.transaction(async (tx) => {
    for (let at = 0; at < tables; at++) await tx.unsafe(write(at))
  })
}

async function measureFirst(database: Database): Promise<{ hand: number; ours: number }> {
  const [hand, ours]: [number[], number[]] = [[], []]
  for (let round = 0; round < 3; round++) {
    hand.push(await time(() => runByHand(database, writeByHand)))
    await runByHand(database, undoByHand)
    ours.push(await time(() => takeTurn(database, writePolicy(tables))))
    await takeTurn(database, writePolicy(0))
  }
  return { hand: median(hand), ours: median(ours) }
}

const writeRuleByHand = `create or replace view hand.t0 with (security_barrier) as
  select ${mask('c0')}, ${mask('c1')}, ${open} from public.t1 t;
  revoke select on public.t${tables} from bench_reader; grant select (c2) on public.t${tables} to bench_reader;
  grant select on hand.t0 to bench_reader`

async function measureRule(database: Database, count: number): Promise<{ hand: number; ours: number }> {
  await database.sql.unsafe(`create view hand.t${tables} as select 1 as c0`)
  await takeTurn(database, writePolicy(count))
  const [hand, ours]: [number[], number[]] = [[], []]
  const focus = () => [{ schema: 'public', table: 't0' }]
  for (let round = 0; round < rounds * 6; round++) {
    hand.push(await time(() => database.sql.unsafe(writeRuleByHand)))
    const policy = writePolicy(count, round % 2 === 0 ? 'Email' : 'Default')
    ours.push(await time(() => takeTurn(database, policy, { focus })))
  }
  await takeTurn(database, writePolicy(0))
  await database.sql.unsafe(`drop view hand.t${tables}, hand.t0`)
  return { hand: median(hand), ours: median(ours) }
}

/** Processor time of this process and all below it, those that ended too, in ms: the service, its PostgreSQL and the masked one. */
function readProcessorMs(): number {
  const all = readdirSync('/proc').filter((name) => /^[0-9]+$/.test(name))
  const stats = all.flatMap((name) => {
    try {
      const fields = readFileSync(`/proc/${name}/stat`, 'utf8')
        .replace(/^.*\) /, '')
        .split(' ')
      return [
        {
          pid: Number(name),
          parent: Number(fields[1]),
          ticks: fields.slice(11, 15).reduce((sum, field) => sum + Number(field), 0),
        },
      ]
    } catch {
      return []
    }
  })
  const ours = new Set([process.pid])
  for (let size = 0; size < ours.size; ) {
    size = ours.size
    for (const { pid, parent } of stats) if (ours.has(parent)) ours.add(pid)
  }
  return stats.filter(({ pid }) => ours.has(pid)).reduce((sum, { ticks }) => sum + ticks * 10, 0)
}

const idleSeconds = 120

/** What the changes left behind is cleaned first: autovacuum and the collector would do it some time later, once. */
async function cleanUp(...databases: readonly Database[]): Promise<void> {
  for (const { sql } of databases) await sql.unsafe('vacuum analyze')
  setFlagsFromString('--expose-gc')
  runInNewContext('gc')()
  await new Promise((resolve) => setTimeout(resolve, 50_000))
}

/** Over HTTP, with a service of its own: the PUT of a rule to the same by hand, and how busy it is with nothing to do. */
async function measureService(database: Database, url: string) {
  const { startTestService } = await import('../test/support/service.ts')
  await using service = await startTestService()
  // Autovacuum would look at it, which only tests have.
  await service.database.sql.unsafe(`alter database ${templateName} is_template false`)
  await service.database.sql.unsafe(`drop database ${templateName}`)
  const token = service.tokenFor({ role: 'Owner' })
  const place = '/subscriptions/b/resourceGroups/b/providers/Vendor.Sql/servers/b/databases/turn'
  const put = async (path: string, properties: object) => {
    const sent = await service.request('PUT', `${place}${path}?api-version=2014-04-01`, {
      token,
      body: { properties },
    })
    if (sent.status >= 300) throw new Error(sent.text)
    return sent.headers.get('x-masquerade-enforcement')
  }
  const { hostname, port, username, password, pathname } = new URL(url)
  const login = { user: decodeURIComponent(username), password: decodeURIComponent(password) }
  await put('', { binding: { host: hostname, port: Number(port), database: pathname.slice(1), ...login } })
  const rules = writePolicy(tables).rules.map(({ name, schema, table, column }) => ({
    ...{ name, schemaName: schema, tableName: table, columnName: column, maskingFunction: 'Default' },
  }))
  await put('/dataMaskingPolicies/Default/document', { rules })
  const [hand, ours]: [number[], number[]] = [[], []]
  for (let round = 0; round < rounds * 8; round++) {
    hand.push(await time(() => database.sql.unsafe(writeRuleByHand)))
    const rule = { ...rules[0], name: undefined, maskingFunction: round % 2 === 0 ? 'Email' : 'Default' }
    const from = performance.now()
    const state = await put(`/dataMaskingPolicies/Default/rules/${rules[0]?.name}`, rule)
    if (state !== 'Enforced') throw new Error(`the rule is ${state}`)
    ours.push(performance.now() - from)
  }
  await cleanUp(database, service.database)
  const [from, at] = [readProcessorMs(), performance.now()]
  await new Promise((resolve) => setTimeout(resolve, idleSeconds * 1000))
  const idle = ((readProcessorMs() - from) / (performance.now() - at)) * 1000
  return { hand: median(hand), ours: median(ours), idle }
}

const started = await startClusters(['embedded-18'])
process.env.MASQUERADE_TEST_CLUSTERS = JSON.stringify(started.clusters)
const directory = mkdtempSync(path.join(tmpdir(), 'masquerade-bench-'))
const server = await startEmbedded({ dataDir: directory, fast: true })
const database = openDatabase({ url: server.url, searchPath: 'public', statementTimeoutMs: 300_000 })
try {
  await database.sql.unsafe('create role bench_reader; create schema hand')
  await createTables(database)
  await database.sql.unsafe(
    `create table public.t${tables} (c0 text, c2 text); grant select on public.t${tables} to bench_reader`,
  )
  await database.sql.unsafe('vacuum analyze')
  const first = await measureFirst(database)
  console.log(
    `first turn of ${tables} tables: ours / by hand ${(first.ours / first.hand).toFixed(1)}  (at most 4; ${first.ours.toFixed(0)} ms, ${first.hand.toFixed(0)} ms)`,
  )
  const few = await measureRule(database, 10)
  const many = await measureRule(database, tables)
  console.log(
    `one rule, the turn alone: ours / by hand ${(many.ours / many.hand).toFixed(1)}  (${many.ours.toFixed(1)} ms, ${many.hand.toFixed(1)} ms)`,
  )
  console.log(
    `one rule: ${tables} tables / 10 tables ${(many.ours / few.ours).toFixed(2)}  (at most 1.5; ${many.ours.toFixed(1)} ms, ${few.ours.toFixed(1)} ms)`,
  )
  const served = await measureService(database, server.url)
  console.log(
    `one rule, PUT over HTTP to Enforced: ours / by hand ${(served.ours / served.hand).toFixed(1)}  (at most 15; ${served.ours.toFixed(1)} ms, ${served.hand.toFixed(1)} ms)`,
  )
  console.log(`nothing to do: ${served.idle.toFixed(1)} ms of a core a second  (at most 5)`)
} finally {
  await database.close()
  await server.stop()
  await started.stop()
  rmSync(directory, { recursive: true, force: true })
}
process.exit(0)
