// The cost of masks: a full scan through a twin against the same view written by hand, a takeTurn of many tables, and one
// change of a rule among few and among many masked tables. Every figure that counts is a ratio of two measurements of the
// same run. Run: npx node bench/enforcement.ts
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { type Database, openDatabase } from '../src/db/database.ts'
import { startEmbedded } from '../src/db/embedded.ts'
import type { Policy, Rule } from '../src/masks/policy.ts'
import { takeTurn } from '../src/masks/turn.ts'
import { median } from './median.ts'

const scannedRows = 300_000
const rounds = 9

const base = { numberFrom: null, numberTo: null, prefixSize: null, suffixSize: null, replacementString: null }

function createRule(
  table: string,
  column: string,
  maskingFunction: Rule['maskingFunction'] = 'Default',
): Rule {
  return { ...base, name: `${table}-${column}`, schema: 'public', table, column, maskingFunction }
}

function createPolicy(rules: readonly Rule[]): Policy {
  return { rules, exemptRoles: [], suspended: [] }
}

async function time(run: () => Promise<unknown>): Promise<number> {
  const start = performance.now()
  await run()
  return performance.now() - start
}

/** The masks as somebody would write them by hand, once. */
const byHand = `
  create view public.by_hand as select id, name,
    case when mail is null then null else case when length(mail) > 1 then left(mail, 1) else 'X' end || 'XXX@XXXX.com' end as mail,
    case when card is null then null else 'XXXX-XXXX-XXXX-' || case when length(regexp_replace(right(card, 256), '[^0-9]', '', 'g')) >= 8
      then right(regexp_replace(right(card, 256), '[^0-9]', '', 'g'), 4) else 'XXXX' end end as card,
    case when pay is null then null else 0::numeric(10,2) end as pay
  from public.scanned`

async function measureScan(database: Database): Promise<number> {
  const { sql } = database
  await sql.unsafe(`create table public.scanned (id int, name text, mail text, card text, pay numeric(10,2));
    insert into public.scanned select n, 'name ' || n, 'mail' || n || '@example.com', '4111-1111-1111-' || 1000 + n % 9000, n
      from generate_series(1, ${scannedRows}) n`)
  await sql.unsafe(byHand)
  await sql.unsafe('vacuum analyze public.scanned')
  await takeTurn(
    database,
    createPolicy([
      createRule('scanned', 'mail', 'Email'),
      createRule('scanned', 'card', 'CCN'),
      createRule('scanned', 'pay'),
    ]),
  )
  const scan = (name: string) => () =>
    sql.unsafe(`select count(id), max(name), max(mail), max(card), max(pay) from ${name}`)
  const ratios: number[] = []
  for (let round = 0; round < rounds; round++) {
    const [hand, twin] = [await time(scan('public.by_hand')), await time(scan('masked_public.scanned'))]
    ratios.push(hand / twin)
  }
  await takeTurn(database, createPolicy([]))
  await sql.unsafe('drop table public.scanned cascade')
  return median(ratios)
}

async function createTables(database: Database, count: number): Promise<void> {
  const columns = Array.from({ length: 10 }, (_, at) => `c${at} text`).join(', ')
  for (let from = 0; from < count; from += 100) {
    const texts = Array.from({ length: Math.min(100, count - from) }, (_, at) => {
      const name = `public.t${from + at}`
      return `create table ${name} (${columns}); grant select on ${name} to public;`
    })
    await database.sql.unsafe(texts.join('\n'))
  }
}

function rulesFor(tables: number, columns: number): Rule[] {
  return Array.from({ length: tables }, (_, table) =>
    Array.from({ length: columns }, (_, column) => createRule(`t${table}`, `c${column}`)),
  ).flat()
}

async function measureReconcile(database: Database) {
  const policy = createPolicy(rulesFor(500, 10))
  const first = await time(() => takeTurn(database, policy))
  const again = median([
    await time(() => takeTurn(database, policy)),
    await time(() => takeTurn(database, policy)),
    await time(() => takeTurn(database, policy)),
  ])
  return { first, again }
}

/** One rule changes back and forth while so many tables are masked. */
async function measureChange(database: Database, tables: number): Promise<number> {
  const rules = rulesFor(tables, 1)
  await takeTurn(database, createPolicy(rules))
  const times: number[] = []
  for (let round = 0; round < rounds * 3; round++) {
    const changed = rules.map((rule, at) =>
      at === 0 ? createRule('t0', 'c0', round % 2 === 0 ? 'Email' : 'Default') : rule,
    )
    const focus = () => [{ schema: 'public', table: 't0' }]
    times.push(await time(() => takeTurn(database, createPolicy(changed), { focus })))
  }
  return median(times)
}

const directory = mkdtempSync(path.join(tmpdir(), 'masquerade-bench-'))
const server = await startEmbedded({ dataDir: directory, fast: true })
const database = openDatabase({ url: server.url, searchPath: 'public', statementTimeoutMs: 300_000 })
try {
  console.log(
    `scan: hand-written view / twin     ${(await measureScan(database)).toFixed(2)}  (at least 0.95)`,
  )
  await createTables(database, 1000)
  const few = await measureChange(database, 10)
  const many = await measureChange(database, 1000)
  console.log(
    `one rule: 1,000 tables / 10 tables ${(many / few).toFixed(2)}  (at most 2; ${few.toFixed(1)} ms, ${many.toFixed(1)} ms)`,
  )
  await takeTurn(database, createPolicy([]))
  const { first, again } = await measureReconcile(database)
  console.log(
    `500 tables x 10 columns: first / with nothing to do ${(first / again).toFixed(1)}  (${first.toFixed(0)} ms, ${again.toFixed(0)} ms)`,
  )
} finally {
  await database.close()
  await server.stop()
  rmSync(directory, { recursive: true, force: true })
}
