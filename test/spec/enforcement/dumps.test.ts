import assert from 'node:assert/strict'
import { after, before, describe } from 'node:test'
import { guardSchema } from '../../../src/masks/names.ts'
import { createWatch } from '../../../src/masks/plan/guard-tables.ts'
import { takeTurn } from '../../../src/masks/turn.ts'
import { clause } from '../../support/clause.ts'
import { majorOf } from '../../support/cluster.ts'
import { findDumpPrograms, listRestoreErrors } from '../../support/dump-programs.ts'
import { createMaskedDatabase, policy, rule } from '../../support/masked-database.ts'
import { forEachCluster } from '../../support/postgres.ts'
import { connectTo, runProgram } from '../../support/programs.ts'

type Target = Awaited<ReturnType<typeof createMaskedDatabase>>

forEachCluster((cluster) => {
  describe('dumps without the gateway', () => {
    let target: Target
    const rules = [rule('public.people.mail', 'Email')]
    const enforce = () =>
      takeTurn(target.database, policy(rules, [target.role('app'), target.role('auditor')]))
    before(async () => {
      target = await createMaskedDatabase(cluster)
      for (const name of ['owner', 'app', 'auditor', 'analyst']) await target.createRole(name)
      await target.database.sql.unsafe(`
        alter schema public owner to "${target.role('owner')}"; grant usage on schema public to public;
        set role "${target.role('owner')}";
        create table public.people (id serial primary key, mail text);
        create view public.seen as select mail from public.people;
        insert into public.people (mail) values ('ann@example.com'), ('bob@example.com');
        grant all on all tables in schema public to "${target.role('app')}";
        grant select on all tables in schema public to "${target.role('auditor')}", "${target.role('analyst')}";
        grant select on all sequences in schema public to public;
        reset role`)
      await enforce()
      for (const sql of createWatch(guardSchema)) await target.database.sql.unsafe(sql)
    })
    after(() => target[Symbol.asyncDispose]())

    /** The locks and reads of a pg_dump of the whole database, which shows the same where there is no pg_dump for this server. */
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

    /** A copy is refused with the statements that clean it; after them it gets masks of its own. */
    const bindCopy = async (copy: Target) => {
      const { sql } = copy.database
      const enforceCopy = () => takeTurn(copy.database, policy(rules))
      const error = await enforceCopy().then(
        () => assert.fail('the record of another database was used'),
        (refused: Error) => refused.message,
      )
      assert.match(error, /^This database was restored from a dump of a masked one\./)
      const statements = error.replace(/^.*made anew: /, '')
      assert.match(
        statements,
        /^DROP SCHEMA "masquerade_guard" CASCADE; DROP SCHEMA "masked_public" CASCADE;/,
      )
      await sql.unsafe(statements)
      await enforceCopy()
      assert.deepEqual(
        [...(await sql`select mail from masked_public.people order by 1`)],
        [{ mail: 'aXXX@XXXX.com' }, { mail: 'bXXX@XXXX.com' }],
      )
    }

    clause(
      'ENF-130',
      'A plain `pg_dump` of the whole database works for the owner of the tables, for exempt…',
      async () => {
        for (const name of ['owner', 'app', 'auditor'])
          assert.ok((await readAsDump(name)).includes('masquerade_guard.relation'), name)
        await assert.rejects(readAsDump('analyst'), /permission denied for schema masquerade_guard/)
        assert.deepEqual((await enforce()).steps, [])
        await takeTurn(target.database, policy(rules))
        await assert.rejects(readAsDump('app'), /permission denied/)
        assert.equal((await readAsDump('owner')).length, 6)
        await enforce()
      },
    )

    clause(
      'ENF-131',
      'A database that is restored from such a dump shows masked roles masks and is left…',
      async () => {
        await using copy = await createMaskedDatabase(cluster)
        await restoreByHand(copy.database.sql, target.database.sql)
        await bindCopy(copy)
      },
    )

    const programs = findDumpPrograms(cluster)
    const skip = !programs && `no pg_dump ${majorOf(cluster)} or later is installed`
    describe(`by pg_dump ${programs?.major ?? ''}`, { skip }, () => {
      const dump = async (url: string) => {
        const { out, ...ended } = await runProgram(programs?.pgDump ?? '', [], connectTo(url))
        return { ...ended, text: out.replaceAll(/^\\(un)?restrict .*$/gm, ''), script: out }
      }

      clause(
        'ENF-130',
        'A plain `pg_dump` of the whole database works for the owner of the tables, for exempt…',
        async () => {
          const { text } = await dump(target.url)
          assert.equal(text.match(/@example/g)?.length, 2)
          assert.ok(text.includes('CREATE EVENT TRIGGER') && text.includes('masquerade_guard.relation'))
          for (const name of ['owner', 'app', 'auditor']) {
            const dumped = await dump(target.urlOf(name))
            assert.deepEqual(
              { name, code: dumped.code, errors: dumped.errors },
              { name, code: 0, errors: '' },
            )
            assert.equal(dumped.text, text, name)
          }
          const denied = await dump(target.urlOf('analyst'))
          assert.notEqual(denied.code, 0)
          assert.match(denied.errors, /permission denied/)
          assert.ok(!denied.text.includes('@example'))
        },
      )

      clause(
        'ENF-131',
        'A database that is restored from such a dump shows masked roles masks and is left…',
        async () => {
          await using copy = await createMaskedDatabase(cluster)
          const { script } = await dump(target.url)
          const restored = await runProgram(programs?.psql ?? '', ['-Xq'], connectTo(copy.url), script)
          assert.deepEqual(listRestoreErrors(restored.errors), [])
          const url = Object.assign(new URL(copy.url), {
            username: target.role('analyst'),
            password: 'secret',
          })
          const statements = ['select mail from masked_public.people order by 1', 'select mail from people']
          const args = ['-XqAt', ...statements.flatMap((statement) => ['-c', statement])]
          const read = await runProgram(programs?.psql ?? '', args, connectTo(url.href))
          assert.equal(read.out, 'aXXX@XXXX.com\nbXXX@XXXX.com\n')
          assert.match(read.errors, /permission denied for table people/)
          await bindCopy(copy)
        },
      )
    })
  })
})

/** The record and a twin as a dump restores them, where there is no pg_dump for this server. */
async function restoreByHand(sql: Target['database']['sql'], source: typeof sql): Promise<void> {
  await sql.unsafe(`create table public.people (id int, mail text);
    insert into public.people values (1, 'ann@example.com'), (2, 'bob@example.com');
    create schema masquerade_guard; create schema masked_public; create view masked_public.people as select id from people`)
  for (const table of ['relation', 'policy', 'twin_owner', 'shadow']) {
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
  await sql.unsafe(`alter view masked_public.people owner to "${await ownerOfTwins(source)}"`)
}

async function ownerOfTwins(source: Target['database']['sql']) {
  const [row] = await source<{ owner: string }[]>`
    select relowner::regrole::text as owner from pg_class where oid = 'masked_public.people'::regclass`
  return row?.owner.replaceAll('"', '') ?? ''
}
