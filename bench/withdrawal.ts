// How long a role reads raw values after its exemption was withdrawn while a masked role is in the way: a table is locked,
// 100 views cannot be understood, a schema is closed to the binding. The target is 2 seconds where the binding may end
// sessions. Run: npx node bench/withdrawal.ts
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import pg from 'pg'
import { type Database, openDatabase } from '../src/db/database.ts'
import { startEmbedded } from '../src/db/embedded.ts'
import { endRawSessions } from '../src/masks/control/open-record.ts'
import type { Policy } from '../src/masks/policy.ts'
import { takeTurn } from '../src/masks/turn.ts'

const targetMs = 2000
const rounds = 3
const views = 100
const mask = {
  numberFrom: null,
  numberTo: null,
  prefixSize: null,
  suffixSize: null,
  replacementString: null,
  maskingFunction: 'Default' as const,
}

const policyFor = (exemptRoles: readonly string[]): Policy => ({
  rules: ['people', 'orders'].map((table) => ({
    ...mask,
    name: table,
    schema: 'app',
    table,
    column: 'secret',
  })),
  exemptRoles,
  suspended: [],
})

const directory = mkdtempSync(path.join(tmpdir(), 'masquerade-bench-'))
const server = await startEmbedded({ dataDir: directory, fast: true })
const admin = openDatabase({ url: server.url, searchPath: 'public', statementTimeoutMs: 60_000 })
const urlOf = (role: string) =>
  Object.assign(new URL(server.url), { username: role, password: 'secret' }).href

const terms = Array.from({ length: 5000 }, () => 'length(secret)').join(' + ')
const schema = `
  create role attacker login password 'secret'; create role auditor login password 'secret';
  create role binder login createrole password 'secret'; grant pg_signal_backend to binder;
  create schema app authorization binder; grant usage on schema app to public;
  create table app.people (id int, secret text); create table app.orders (id int, secret text);
  insert into app.people values (1, 'raw'); insert into app.orders values (1, 'raw');
  alter table app.people owner to binder; alter table app.orders owner to binder;
  grant select, update on app.people, app.orders to attacker, auditor; grant create on schema app to attacker, auditor`

interface Obstacle {
  readonly title: string
  /** Sets it up; the function that it returns removes it. */
  raise(attacker: pg.Client): Promise<() => Promise<unknown>>
}

const obstacles: readonly Obstacle[] = [
  { title: 'nothing in the way', raise: async () => async () => {} },
  {
    title: 'a table is locked',
    async raise(attacker) {
      await attacker.query('begin; lock table app.people in access exclusive mode')
      return () => attacker.query('rollback').catch(() => {})
    },
  },
  {
    title: `${views} views cannot be understood`,
    async raise() {
      for (let at = 0; at < views; at++)
        await admin.sql.unsafe(
          `create view app.bomb${at} as select ${terms} as sum from app.people; alter view app.bomb${at} owner to binder`,
        )
      return async () => {
        for (let at = 0; at < views; at++) await admin.sql.unsafe(`drop view app.bomb${at}`)
      }
    },
  },
  {
    title: 'a schema is closed to the binding',
    async raise() {
      await admin.sql.unsafe(`grant attacker to binder; create schema hidden authorization attacker;
        create view hidden.v as select * from app.people; alter view hidden.v owner to attacker;
        revoke all on schema hidden from attacker`)
      return () => admin.sql.unsafe('drop schema hidden cascade; revoke attacker from binder')
    },
  },
]

/** Reads raw values as the auditor as fast as it can, in a session of its own and by a cursor. Returns the last time. */
function readRaw(stop: () => boolean): Promise<number> {
  let last = 0
  const connect = async () => {
    const client = new pg.Client({ connectionString: urlOf('auditor') })
    client.on('error', () => {})
    await client.connect()
    return client
  }
  const note = (rows: readonly { secret: string }[]) => {
    if (rows.some(({ secret }) => secret === 'raw')) last = performance.now()
  }
  const hammer = async () => {
    while (!stop())
      try {
        const client = await connect()
        try {
          while (!stop()) note((await client.query('select secret from app.orders')).rows)
        } finally {
          await client.end().catch(() => {})
        }
      } catch {
        await new Promise((resolve) => setTimeout(resolve, 5))
      }
  }
  const scroll = async () => {
    try {
      const client = await connect()
      await client.query('begin; declare raw scroll cursor for select secret from app.orders')
      while (!stop()) note((await client.query('fetch first from raw')).rows)
      await client.end()
    } catch {
      // It was ended.
    }
  }
  return Promise.all([hammer(), scroll()]).then(() => last)
}

async function measure(binding: Database, { raise }: Obstacle): Promise<number> {
  await takeTurn(binding, policyFor(['auditor']))
  const attacker = new pg.Client({ connectionString: urlOf('attacker') })
  attacker.on('error', () => {})
  await attacker.connect()
  const remove = await raise(attacker)
  let isOver = false
  const reading = readRaw(() => isOver)
  await new Promise((resolve) => setTimeout(resolve, 300))
  const from = performance.now()
  const options = { logins: [], hasStandbys: false }
  const result = await takeTurn(binding, policyFor([]), {
    onClosed: (closed) => endRawSessions(binding, closed, { ...options, isAllClosed: false }),
  })
  const isAllClosed = result.unfinished.every(({ isClosed }) => isClosed)
  await endRawSessions(binding, result, { ...options, isAllClosed })
  await new Promise((resolve) => setTimeout(resolve, 1000))
  isOver = true
  const last = await reading
  await remove()
  await attacker.end().catch(() => {})
  await takeTurn(binding, policyFor(['auditor']))
  return last - from
}

await admin.sql.unsafe(schema)
const [place] = await admin.sql<{ database: string }[]>`select current_database() as database`
await admin.sql.unsafe(`grant create on database "${place?.database}" to binder, attacker`)
const binding = openDatabase({ url: urlOf('binder'), searchPath: 'pg_catalog', statementTimeoutMs: 60_000 })
let worst = 0
for (const obstacle of obstacles) {
  const times: number[] = []
  for (let round = 0; round < rounds; round++) times.push(await measure(binding, obstacle))
  worst = Math.max(worst, ...times)
  console.log(`${obstacle.title.padEnd(34)} last raw read after ${Math.max(...times).toFixed(0)} ms`)
}
console.log(`ratio ${(targetMs / worst).toFixed(2)} (target ${targetMs} ms / slowest; at least 1)`)
await binding.close()
await admin.close()
await server.stop()
rmSync(directory, { recursive: true, force: true })
