import assert from 'node:assert/strict'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import type { Gateway } from '../../../src/gateway/gateway.ts'
import { guardSchema } from '../../../src/masks/names.ts'
import { createWatch } from '../../../src/masks/plan/guard-tables.ts'
import { takeTurn } from '../../../src/masks/turn.ts'
import { openBareGateway } from '../../support/bare-gateway.ts'
import { forDumpedClusters, listRestoreErrors } from '../../support/dump-programs.ts'
import { createMaskedDatabase, policy, rule } from '../../support/masked-database.ts'
import { connectTo, runProgram } from '../../support/programs.ts'

const mask = 'mXXX@XXXX.com'

forDumpedClusters((cluster, { pgDump, psql, pgRestore }) => {
  describe('pg_dump of a whole database', () => {
    let target: Awaited<ReturnType<typeof createMaskedDatabase>>
    let gateway: Gateway
    let folder: string
    before(async () => {
      target = await createMaskedDatabase(cluster)
      const people = [await target.createRole('analyst'), await target.createRole('auditor')]
      await target.database.sql.unsafe(`
      create schema sales;
      create table public.customers (id int primary key, name text, email text not null);
      insert into public.customers select n, 'name ' || n, 'mail' || n || '@example.com' from generate_series(1, 200) n;
      create table sales.orders (id serial primary key, customer int references public.customers, contact text);
      insert into sales.orders (customer, contact) select n, 'mail' || n || '@example.com' from generate_series(1, 200) n;
      create table public.visits (at date, email text) partition by range (at);
      create table public.visits_1 partition of public.visits for values from ('2026-01-01') to ('2026-02-01');
      insert into public.visits values ('2026-01-05', 'mail5@example.com');
      create view public.bought as select o.id, c.email from sales.orders o join public.customers c on c.id = o.customer;
      create materialized view public.mails as select email from public.customers;
      create type public.mood as enum ('calm', 'stern');
      create function public.shout(text) returns text language sql immutable as 'select upper($1)';
      create function public.watch() returns trigger language plpgsql as 'begin return new; end';
      create trigger watch before insert on public.customers for each row execute function public.watch();
      create function public.heed() returns event_trigger language plpgsql as 'begin end';
      create event trigger heed on sql_drop execute function public.heed();`)
      await target.database.sql.unsafe(
        people
          .map(
            (role) => `grant usage on schema public, sales to "${role}";
            grant select on all tables in schema public, sales to "${role}";
            grant select on all sequences in schema public, sales to "${role}";`,
          )
          .join(''),
      )
      const rules = ['public.customers.email', 'sales.orders.contact', 'public.visits.email']
      await takeTurn(
        target.database,
        policy(
          rules.map((column) => rule(column, 'Email')),
          [target.role('auditor')],
        ),
      )
      for (const sql of createWatch(guardSchema)) await target.database.sql.unsafe(sql)
      gateway = await openBareGateway(target.database, target.url)
      folder = await mkdtemp(join(tmpdir(), 'masquerade-dump-'))
    })
    after(async () => {
      await gateway?.close(0)
      await target?.[Symbol.asyncDispose]()
      if (folder) await rm(folder, { recursive: true, force: true })
    })

    const dump = async (role: string, args: readonly string[], environment: Record<string, string> = {}) => {
      const url = Object.assign(new URL(target.urlOf(role)), { host: `127.0.0.1:${gateway.port}` })
      const { code, out, errors } = await runProgram(pgDump, args, {
        ...connectTo(url.href),
        ...environment,
      })
      assert.equal(code, 0, errors)
      assert.equal(errors, '')
      return out
    }
    /** What a fresh database holds after a restore that may not fail anywhere. */
    const restore = async (program: string, args: readonly string[], input = '') => {
      await using copy = await createMaskedDatabase(cluster)
      const { sql } = copy.database
      const environment = connectTo(copy.url)
      const toDatabase = program === pgRestore ? ['-d', environment.PGDATABASE ?? ''] : []
      const { errors } = await runProgram(program, [...toDatabase, ...args], environment, input)
      assert.deepEqual(listRestoreErrors(errors), [])
      const [mails] = await sql`
      select (select count(*)::int from public.customers where email = ${mask}) as customers,
        (select count(*)::int from sales.orders where contact = ${mask}) as orders,
        (select count(*)::int from public.visits where email = ${mask}) as visits`
      const schemas = await sql`
      select nspname::text as name from pg_namespace where nspname !~ '^(pg_|information_schema)' order by 1`
      const triggers = await sql`select evtname::text as name from pg_event_trigger`
      return { mails, schemas: schemas.map(({ name }) => name), triggers: triggers.map(({ name }) => name) }
    }
    const whole = {
      mails: { customers: 200, orders: 200, visits: 1 },
      schemas: ['public', 'sales'],
      triggers: ['heed'],
    }
    /** A raw value, or something of ours but the grants by which twins read. */
    const findTrace = (text: string) =>
      text.split('\n').find((line) => /@example|masquerade|masked_/.test(line) && !line.startsWith('GRANT'))

    test('in plain text: masked, complete, and nothing of ours in it', async () => {
      const text = await dump('analyst', ['--no-owner'])
      assert.equal(findTrace(text), undefined)
      assert.deepEqual(await restore(psql, ['-Xq'], text), whole)
    })

    test('under another name, and as INSERT statements', async () => {
      const text = await dump('analyst', ['--no-owner', '--inserts'], { PGAPPNAME: 'nightly' })
      assert.equal(findTrace(text), undefined)
      assert.deepEqual(await restore(psql, ['-Xq'], text), whole)
    })

    test('as an archive, and as a directory by several connections', async () => {
      for (const [name, args] of [
        ['archive', ['-Fc']],
        ['directory', ['-Fd', '-j2']],
      ] as const) {
        const path = join(folder, name)
        await dump('analyst', ['--no-owner', ...args, '-f', path])
        assert.deepEqual(await restore(pgRestore, ['--no-owner', path]), whole)
      }
      assert.ok(!(await readFile(join(folder, 'archive'))).includes('@example'))
    })

    test('the data alone, the schema alone, and one table', async () => {
      const schema = await dump('analyst', ['--no-owner', '--schema-only'])
      assert.ok(!schema.includes('COPY'))
      const data = await dump('analyst', ['--data-only'])
      assert.ok(!/@example|CREATE/.test(data))
      assert.deepEqual(await restore(psql, ['-Xq'], schema + data), whole)
      const table = await dump('analyst', ['-t', 'public.customers', '--column-inserts'])
      assert.equal(table.match(/^INSERT INTO public\.customers \(id, name, email\)/gm)?.length, 200)
      assert.ok(!table.includes('@example'))
      assert.equal((await dump('analyst', ['-t', 'customers'])).match(/CREATE (TABLE|VIEW)/g)?.length, 1)
    })

    test('by an exempt role: raw values, and nothing of ours either', async () => {
      const text = await dump('auditor', ['--no-owner'])
      assert.equal(text.match(/@example/g)?.length, 401)
      assert.equal(findTrace(text.replaceAll('@example', '')), undefined)
    })

    test('by a superuser: as without the gateway', async () => {
      const { url } = target
      const through = Object.assign(new URL(url), { host: `127.0.0.1:${gateway.port}` }).href
      const dumps = await Promise.all([url, through].map((each) => runProgram(pgDump, [], connectTo(each))))
      for (const { code, errors } of dumps) assert.equal(code, 0, errors)
      const plain = dumps.map(({ out }) => out.replaceAll(/^\\(un)?restrict .*$/gm, ''))
      assert.ok(plain[0]?.includes('masquerade_guard'))
      assert.equal(plain[1], plain[0])
    })

    test('what the controller wrote down stays closed', async () => {
      const url = Object.assign(new URL(target.urlOf('analyst')), { host: `127.0.0.1:${gateway.port}` })
      for (const statement of [
        'copy masquerade_guard.relation to stdout',
        'select * from masquerade_guard.policy',
        'begin; lock table masquerade_guard.policy in access share mode',
      ]) {
        const { out, errors } = await runProgram(psql, ['-Xqc', statement], {
          ...connectTo(url.href),
          PGAPPNAME: 'pg_dump',
        })
        assert.match(errors, /permission denied/)
        assert.equal(out, '')
      }
    })
  })
})
