// Compares PostgreSQL clients on our own query mix: a read by key, a walk up a small membership graph, and an insert in a
// transaction of its own. `pg` is the driver alone, `masquerade` is our database room on top of it. Prints the
// processor time of each and one ratio. Run: npx node bench/client.ts
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import pg from 'pg'
import postgres from 'postgres'
import { openDatabase } from '../src/db/database.ts'
import { startEmbedded } from '../src/db/embedded.ts'

type Client = {
  name: string
  readByKey(id: number): Promise<unknown>
  walk(id: number): Promise<unknown>
  insert(id: number): Promise<unknown>
  close(): Promise<void>
}

const poolSize = 10
const concurrency = 32
const secondsPerRound = 3
const rounds = 3

const walkText = `
  with recursive up(id) as (
    select parent from bench_member where child = $1
    union
    select parent from bench_member join up on child = up.id
  )
  select id from up`

function openPostgresJs(url: string): Client {
  const sql = postgres(url, { max: poolSize, onnotice: () => {} })
  return {
    name: 'postgres',
    readByKey: (id) => sql`select id, name, data from bench_object where id = ${id}`,
    walk: (id) => sql`
      with recursive up(id) as (
        select parent from bench_member where child = ${id}
        union
        select parent from bench_member join up on child = up.id
      )
      select id from up`,
    insert: (id) =>
      sql.begin((tx) => tx`insert into bench_event (object_id, data) values (${id}, ${tx.json({ id })})`),
    close: () => sql.end(),
  }
}

function openPg(url: string): Client {
  const pool = new pg.Pool({ connectionString: url, max: poolSize })
  const query = (name: string, text: string, values: unknown[]) => pool.query({ name, text, values })
  return {
    name: 'pg',
    readByKey: (id) => query('read', 'select id, name, data from bench_object where id = $1', [id]),
    walk: (id) => query('walk', walkText, [id]),
    async insert(id) {
      const client = await pool.connect()
      try {
        await client.query('begin')
        const text = 'insert into bench_event (object_id, data) values ($1, $2)'
        await client.query({ name: 'insert', text, values: [id, { id }] })
        await client.query('commit')
      } finally {
        client.release()
      }
    },
    close: () => pool.end(),
  }
}

function openOurs(url: string): Client {
  const { sql, transaction, close } = openDatabase({ url, poolSize })
  return {
    name: 'masquerade',
    readByKey: async (id) => await sql`select id, name, data from public.bench_object where id = ${id}`,
    walk: async (id) =>
      await sql`
      with recursive up(id) as (
        select parent from public.bench_member where child = ${id}
        union
        select parent from public.bench_member join up on child = up.id
      )
      select id from up`,
    insert: (id) =>
      transaction(
        (tx) => tx`insert into public.bench_event (object_id, data) values (${id}, ${tx.json({ id })})`,
      ),
    close,
  }
}

/** Eight reads by key and three walks for each insert. */
async function runMix(client: Client, turn: number): Promise<void> {
  const id = 1 + ((turn * 7919) % 10_000)
  const kind = turn % 12
  if (kind === 0) await client.insert(id)
  else if (kind <= 3) await client.walk(id)
  else await client.readByKey(id)
}

/** The client's own processor time, in microseconds per operation: unlike the clock, it does not see the neighbours. */
async function measure(client: Client): Promise<number> {
  const end = performance.now() + secondsPerRound * 1000
  const before = process.cpuUsage()
  let turn = 0
  const worker = async () => {
    while (performance.now() < end) await runMix(client, turn++)
  }
  await Promise.all(Array.from({ length: concurrency }, worker))
  const { user, system } = process.cpuUsage(before)
  return (user + system) / turn
}

async function prepare(url: string): Promise<void> {
  const sql = postgres(url, { max: 1, onnotice: () => {} })
  await sql`create table bench_object (id int primary key, name text not null, data jsonb not null)`
  await sql`insert into bench_object select n, 'object ' || n, jsonb_build_object('n', n) from generate_series(1, 10000) n`
  await sql`create table bench_member (parent int, child int, primary key (parent, child))`
  await sql`insert into bench_member select n / 8, n from generate_series(8, 10000) n`
  await sql`create index on bench_member (child)`
  await sql`create table bench_event (id bigint generated always as identity primary key, object_id int, data jsonb)`
  await sql`vacuum analyze`
  await sql.end()
}

const directory = mkdtempSync(path.join(tmpdir(), 'masquerade-bench-'))
const embedded = await startEmbedded({ dataDir: directory })
try {
  await prepare(embedded.url)
  const best = new Map<string, number>()
  for (let round = 0; round < rounds; round++) {
    for (const open of [openPostgresJs, openPg, openOurs]) {
      const client = open(embedded.url)
      await measure(client)
      const micros = await measure(client)
      best.set(client.name, Math.min(best.get(client.name) ?? Number.POSITIVE_INFINITY, micros))
      await client.close()
    }
  }
  for (const [name, micros] of best) console.log(`${name}: ${micros.toFixed(1)} µs/operation`)
  console.log(
    `masquerade / postgres: ${((best.get('masquerade') ?? 0) / (best.get('postgres') ?? 1)).toFixed(2)}`,
  )
} finally {
  await embedded.stop()
  rmSync(directory, { recursive: true })
}
