import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { after, before, describe } from 'node:test'
import { reconcile } from '../../../src/enforcement/reconcile.ts'
import { clause } from '../../support/clause.ts'
import { majorOf } from '../../support/cluster.ts'
import { findProgram } from '../../support/find-program.ts'
import { createMaskedDatabase, policy, rule } from '../../support/masked-database.ts'
import { forEachCluster } from '../../support/postgres.ts'
import { connectTo, runProgram } from '../../support/programs.ts'

const pgDump = findProgram('pg_dump')
/** pg_dump reads servers up to its own version. */
const newest = pgDump
  ? Number(/ (\d+)/.exec(spawnSync(pgDump, ['--version'], { encoding: 'utf8' }).stdout)?.[1] ?? 0)
  : 0

forEachCluster((cluster) => {
  describe('dumps without the gateway', () => {
    let target: Awaited<ReturnType<typeof createMaskedDatabase>>
    const rules = [rule('public.people.mail', 'Email')]
    const enforce = () => reconcile(target.database, policy(rules, [target.role('app')]))
    before(async () => {
      target = await createMaskedDatabase(cluster)
      for (const name of ['owner', 'app', 'analyst']) await target.createRole(name)
      await target.database.sql.unsafe(`
        alter schema public owner to "${target.role('owner')}"; grant usage on schema public to public;
        set role "${target.role('owner')}";
        create table public.people (id serial primary key, mail text);
        create view public.seen as select mail from public.people;
        insert into public.people (mail) values ('ann@example.com'), ('bob@example.com');
        grant select on all tables in schema public to "${target.role('app')}", "${target.role('analyst')}";
        grant select on all sequences in schema public to "${target.role('app')}";
        reset role`)
      await enforce()
    })
    after(() => target[Symbol.asyncDispose]())

    const dump = async (url: string) => {
      const { code, out, errors } = await runProgram('pg_dump', [], connectTo(url))
      assert.equal(code, 0, errors)
      assert.equal(errors, '')
      return out
    }
    /** The locks and reads of a pg_dump of the whole database, for a server that is newer than the machine's program. */
    const readAsDump = async (name: string) => {
      const { sql } = target.connectAs(name)
      const tables = await sql<{ name: string }[]>`
        select format('%I.%I', n.nspname, c.relname) as name from pg_class c join pg_namespace n on n.oid = c.relnamespace
        where c.relkind in ('r', 'p') and n.nspname !~ '^pg_' and n.nspname <> 'information_schema' order by 1`
      const texts = tables.map(
        (table) => `lock table ${table.name} in access share mode; select * from ${table.name};`,
      )
      await sql.unsafe(`begin; ${texts.join(' ')} rollback`)
      return tables.map((table) => table.name)
    }

    clause(
      'ENF-130',
      'A plain `pg_dump` of the whole database works for the owner of the tables, for exempt roles and for superusers as it did before masking, and has raw values. Other roles cannot read the record of the controller; a role that loses its exemption loses that as well.',
      async () => {
        for (const name of ['owner', 'app'])
          assert.ok((await readAsDump(name)).includes('masquerade_guard.relation'), name)
        await assert.rejects(readAsDump('analyst'), /permission denied for schema masquerade_guard/)
        if (majorOf(cluster) <= newest)
          for (const url of [target.urlOf('owner'), target.urlOf('app'), target.url])
            assert.equal((await dump(url)).match(/@example/g)?.length, 2)
        assert.deepEqual((await enforce()).steps, [])
        await reconcile(target.database, policy(rules))
        await assert.rejects(readAsDump('app'), /permission denied/)
        assert.equal((await readAsDump('owner')).length, 4)
        await enforce()
      },
    )

    clause(
      'ENF-131',
      'A database that is restored from such a dump shows masked roles masks, and is left alone by the service: its record is about other tables and roles. The state says so, with the statements that remove what came along; after them masks are made anew.',
      async () => {
        await using copy = await createMaskedDatabase(cluster)
        const { sql } = copy.database
        if (majorOf(cluster) <= newest) {
          const text = await dump(target.url)
          const args = ['-Xq', '-v', 'ON_ERROR_STOP=1']
          const { code, errors } = await runProgram('psql', args, connectTo(copy.url), text)
          assert.equal(code, 0, errors)
          const analyst = Object.assign(new URL(copy.url), {
            username: target.role('analyst'),
            password: 'secret',
          })
          const read = await runProgram(
            'psql',
            ['-XqAtc', 'select mail from masked_public.people order by 1', '-c', 'select mail from people'],
            connectTo(analyst.href),
          )
          assert.equal(read.out, 'aXXX@XXXX.com\nbXXX@XXXX.com\n')
          assert.match(read.errors, /permission denied for table people/)
        } else await restoreByHand(sql, target.database.sql)
        const enforceCopy = () => reconcile(copy.database, policy(rules))
        const error = await enforceCopy().then(
          () => assert.fail('the record of another database was used'),
          (refused: Error) => refused.message,
        )
        assert.match(error, /^This database was restored from a dump of a masked one\./)
        const statements = error.replace(/^.*made anew: /, '')
        assert.match(
          statements,
          /^DROP SCHEMA "masquerade_guard" CASCADE; DROP SCHEMA "masked_public" CASCADE; /,
        )
        await sql.unsafe(statements)
        await enforceCopy()
        assert.deepEqual(
          [...(await sql`select mail from masked_public.people order by 1`)],
          [{ mail: 'aXXX@XXXX.com' }, { mail: 'bXXX@XXXX.com' }],
        )
      },
    )
  })
})

/** The record and a twin as a dump restores them, for a server that is newer than the machine's pg_dump. */
async function restoreByHand(
  sql: Awaited<ReturnType<typeof createMaskedDatabase>>['database']['sql'],
  source: typeof sql,
): Promise<void> {
  await sql.unsafe(`create table public.people (id int, mail text);
    insert into public.people values (1, 'ann@example.com'), (2, 'bob@example.com');
    create schema masquerade_guard; create schema masked_public; create view masked_public.people as select id from people`)
  for (const table of ['relation', 'policy']) {
    const columns = await source<{ text: string }[]>`
      select format('%I %s', attname, format_type(atttypid, atttypmod)) as text from pg_attribute
      where attrelid = ${`masquerade_guard.${table}`}::regclass and attnum > 0 order by attnum`
    await sql.unsafe(`create table masquerade_guard.${table} (${columns.map(({ text }) => text).join(', ')})`)
    const rows = await source.unsafe<{ row: unknown }[]>(
      `select to_jsonb(t) as row from masquerade_guard.${table} t`,
    )
    for (const { row } of rows)
      await sql`insert into ${sql('masquerade_guard')}.${sql(table)}
        select (jsonb_populate_record(null::${sql('masquerade_guard')}.${sql(table)}, ${sql.json(row as never)})).*`
  }
  await sql.unsafe(`alter schema masked_public owner to "${await ownerOfTwins(source)}"`)
}

async function ownerOfTwins(source: Awaited<ReturnType<typeof createMaskedDatabase>>['database']['sql']) {
  const [row] = await source<{ owner: string }[]>`
    select nspowner::regrole::text as owner from pg_namespace where nspname = 'masked_public'`
  return row?.owner.replaceAll('"', '') ?? ''
}
