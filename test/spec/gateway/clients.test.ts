import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import postgres from 'postgres'
import { prepareBinaries } from '../../../src/db/server/binaries.ts'
import type { Gateway } from '../../../src/gateway/gateway.ts'
import { takeTurn } from '../../../src/masks/turn.ts'
import { openBareGateway } from '../../support/bare-gateway.ts'
import { listClusterNames } from '../../support/cluster.ts'
import { createMaskedDatabase, policy, rule } from '../../support/masked-database.ts'
import { listClusters } from '../../support/postgres.ts'
import { connectTo, runProgram } from '../../support/programs.ts'

const cluster = listClusters().at(-1)
const hasTools = listClusterNames().some((name) => name.startsWith('installed'))
const withoutTools = !hasTools && 'PostgreSQL and its clients are not installed'

describe('programs that know nothing of masks', { skip: withoutTools }, () => {
  let target: Awaited<ReturnType<typeof createMaskedDatabase>>
  let gateway: Gateway
  let folder: string
  let analyst: string
  before(async () => {
    target = await createMaskedDatabase(cluster)
    analyst = await target.createRole('analyst')
    await target.database.sql.unsafe(`
      create table public.customers (id int primary key, name text, email text);
      insert into public.customers select n, 'name ' || n, 'mail' || n || '@example.com' from generate_series(1, 1000) n;
      create table public.orders (id int primary key, customer int references public.customers);
      insert into public.orders select n, n from generate_series(1, 1000) n;
      create view public.bought as select o.id, c.email from public.orders o join public.customers c on c.id = o.customer;
      grant select on all tables in schema public to "${analyst}"`)
    await takeTurn(target.database, policy([rule('public.customers.email', 'Email')]))
    gateway = await openBareGateway(target.database, target.url)
    folder = await mkdtemp(join(tmpdir(), 'masquerade-clients-'))
  })
  after(async () => {
    await gateway?.close(0)
    await target?.[Symbol.asyncDispose]()
    await rm(folder, { recursive: true, force: true })
  })

  const run = (
    command: string,
    args: readonly string[],
    environment: Record<string, string> = {},
    input = '',
  ) => {
    const url = Object.assign(new URL(target.urlOf('analyst')), { host: `127.0.0.1:${gateway.port}` })
    return runProgram(command, args, { ...connectTo(url.href), ...environment }, input)
  }

  test('psql, plain and with TLS, with its own commands', async () => {
    for (const PGSSLMODE of ['disable', 'require']) {
      const { out, errors } = await run(
        'psql',
        ['-XAt'],
        { PGSSLMODE },
        [
          'select email from public.customers where id = 7;',
          '\\copy public.customers (id, email) to stdout',
          '\\d public.customers',
          'select 1 from nothere;',
          'select id, é from public.customers;',
          '',
        ].join('\n'),
      )
      assert.match(out, /^mXXX@XXXX\.com\n1\tmXXX@XXXX\.com\n/)
      assert.ok(!out.includes('@example'))
      assert.match(out, /email\|text/)
      assert.match(errors, /LINE 1: select 1 from nothere;\n {22}\^/)
      assert.match(errors, /LINE 1: select id, é from public\.customers;\n {19}\^/)
    }
  })

  // The psql of any version, over the library that the embedded PostgreSQL brings along.
  const isLinux = process.platform === 'linux' ? false : 'libraries are found otherwise here'
  test('libpq 18 with direct TLS, by psql and by pgbench', { skip: isLinux }, async () => {
    const { bin, version } = prepareBinaries(undefined, folder)
    assert.match(version, /^18/)
    const LD_LIBRARY_PATH = join(bin, '../lib')
    const direct = { LD_LIBRARY_PATH, PGSSLMODE: 'require', PGSSLNEGOTIATION: 'direct' }
    const asked = await run('psql', ['-XAt', '-c', 'select email from public.customers where id = 7'], direct)
    assert.equal(asked.errors, '')
    assert.equal(asked.out, 'mXXX@XXXX.com\n')
    // An older library would not know the setting, and would let it pass.
    const wrong = await run('psql', ['-c', 'select 1'], { ...direct, PGSSLNEGOTIATION: 'nothing' })
    assert.match(wrong.errors, /invalid sslnegotiation value/)
    const script = join(folder, 'direct.sql')
    await writeFile(script, 'select email from public.customers where id = 7;\n')
    const bench = await run('pgbench', ['-n', '-f', script, '-M', 'prepared', '-c', '3', '-t', '20'], direct)
    assert.match(bench.out, /60\/60/, bench.errors)
  })

  test('pgbench with each of its protocols', async () => {
    const script = join(folder, 'script.sql')
    await writeFile(script, '\\set id random(1, 1000)\nselect email from public.customers where id = :id;\n')
    for (const protocol of ['simple', 'extended', 'prepared']) {
      const args = ['-n', '-f', script, '-M', protocol, '-c', '4', '-t', '25']
      const { code, out, errors } = await run('pgbench', args)
      assert.equal(code, 0, errors)
      assert.match(out, /100\/100/)
    }
  })

  test('pgbench with a pipeline of statements', async () => {
    const script = join(folder, 'pipeline.sql')
    const select = 'select email from public.customers where id = :id;'
    await writeFile(
      script,
      `\\set id random(1, 1000)\n\\startpipeline\n${`${select}\n`.repeat(5)}\\endpipeline\n`,
    )
    for (const protocol of ['extended', 'prepared']) {
      const { code, out, errors } = await run('pgbench', [
        '-n',
        '-f',
        script,
        '-M',
        protocol,
        '-c',
        '2',
        '-t',
        '10',
      ])
      assert.equal(code, 0, errors)
      assert.match(out, /20\/20/)
    }
  })

  test('pgbench with its own tables, one of them masked', async () => {
    const made = await runProgram('pgbench', ['-i', '-q', '-s', '1'], connectTo(target.url))
    assert.equal(made.code, 0, made.errors)
    await target.database.sql.unsafe(
      `grant select, insert, update, delete on all tables in schema public to "${analyst}"`,
    )
    const rules = [
      'public.customers.email',
      'public.pgbench_accounts.filler',
      'public.pgbench_tellers.filler',
    ]
    await takeTurn(
      target.database,
      policy(rules.map((column) => rule(column, column.endsWith('email') ? 'Email' : 'Default'))),
    )
    await gateway.refresh('one')
    for (const protocol of ['simple', 'extended', 'prepared']) {
      const { code, out, errors } = await run('pgbench', ['-n', '-M', protocol, '-c', '2', '-t', '20'])
      assert.equal(code, 0, errors)
      assert.match(out, /40\/40/)
    }
    const { out } = await run('psql', ['-XAtc', 'select distinct filler from pgbench_accounts'])
    assert.equal(out.trim(), 'XXXX')
    const [row] = await target.database.sql`
      select (select sum(abalance) from public.pgbench_accounts) = (select sum(delta) from public.pgbench_history) as same`
    assert.equal(row?.same, true)
  })

  test('postgres.js, pipelined', async () => {
    const sql = postgres({
      host: '127.0.0.1',
      port: gateway.port,
      user: analyst,
      password: 'secret',
      database: 'shop',
      max: 1,
    })
    const rows = await Promise.all(
      Array.from(
        { length: 200 },
        (_, at) => sql`select id, email from public.customers where id = ${at + 1}`,
      ),
    )
    assert.deepEqual(
      rows.map(([row]) => row),
      rows.map((_, at) => ({ id: at + 1, email: 'mXXX@XXXX.com' })),
    )
    await sql.end()
  })

  test('the same rows as from the masked views themselves', async () => {
    const sql = postgres({
      host: '127.0.0.1',
      port: gateway.port,
      user: analyst,
      password: 'secret',
      database: 'shop',
      max: 1,
    })
    const queries = [
      'select * from public.customers order by id',
      'select c.name, o.id from public.orders o join public.customers c on c.id = o.customer where c.id < 10 order by 2',
      'select email, count(*)::int as n from public.customers group by email having count(*) > 1',
      'select * from public.bought order by id limit 20 offset 5',
      'with c as (select * from public.customers) select max(email) as m from c',
      "select id from public.customers where email = 'mail7@example.com'",
      'select id, row_number() over (order by public.customers.id)::int as n from public.customers order by 1 limit 9',
    ]
    const direct = target.connectAs('analyst').sql
    for (const text of queries) {
      const byHand = text.replaceAll(/public\.(customers|bought)/g, 'masked_public.$1')
      assert.deepEqual([...(await sql.unsafe(text))], [...(await direct.unsafe(byHand))], text)
    }
    await sql.end()
  })
})
