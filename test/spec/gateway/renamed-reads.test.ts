import assert from 'node:assert/strict'
import { describe } from 'node:test'
import { openDatabase } from '../../../src/db/database.ts'
import { readMaskVersion } from '../../../src/masks/read/mask-version.ts'
import { takeTurn } from '../../../src/masks/turn.ts'
import { clause } from '../../support/clause.ts'
import { policy, rule } from '../../support/masked-database.ts'
import { forEachCluster } from '../../support/postgres.ts'
import { email, useWatchedDatabase, value, watchSteps } from '../../support/watched-database.ts'
import { openWatchedGateway } from '../../support/watched-gateway.ts'

forEachCluster((cluster) => {
  describe('reads of masked columns by names that the gateway does not know yet', () => {
    const roles = ['owner', 'auditor', 'keeper', 'viewer']
    const database = useWatchedDatabase(cluster, roles, async (all) => {
      await run(`grant usage, create on schema public to ${all};
        create domain public.mail as text;
        create type public.person as (id int, city int, email public.mail);
        create table public.cities (id int primary key); insert into public.cities values (1), (2), (3);
        create table public.people of public.person;
        alter table public.people alter city set not null, add foreign key (city) references public.cities on delete set null;
        insert into public.people values (1, 1, '${value}'), (2, 2, '${value}'), (3, 3, '${value}');
        create table public.pets (id int, people_id int); insert into public.pets values (1, 1);
        grant select, insert, update on public.people to ${role('auditor')};
        grant select on public.people to ${role('viewer')};
        grant select on public.pets to ${role('auditor')}, ${role('owner')};
        alter domain public.mail owner to ${role('owner')}; alter type public.person owner to ${role('owner')};
        alter table public.people owner to ${role('owner')}; alter table public.cities owner to ${role('keeper')};
        create materialized view public.stored as select email from public.people;
        insert into public.people select 1000 + i, 1, i || '${value}' from generate_series(1, 100) i;
        refresh materialized view public.stored; delete from public.people where id > 1000;
        alter materialized view public.stored owner to ${role('viewer')}; analyze public.stored`)
      await mask([email], ['owner', 'auditor'])
    })
    const { target, gateway, role, run, mask, watch, isRaw } = database

    async function isUnparsed(name: string, ...texts: string[]): Promise<void> {
      const { shown, isUnparsed } = await watch(name, ...texts)
      assert.match(shown, new RegExp(value), texts.join('; '))
      assert.ok(isUnparsed, texts.join('; '))
    }

    clause(
      'GATE-275',
      'A name of a column that no relation in reach is known to have touches all their masked columns: it…',
      async () => {
        const renames = ['begin', 'alter type public.person rename attribute email to x cascade']
        for (const text of [
          'select x from public.people',
          'select (select x) from public.people',
          'select x as id from public.people order by id',
          `select p.x from public.people p join (values ('${value}')) v (x) using (x)`,
          `select id, v.x from public.people join (values ('${value}')) v (x) using (x)`,
          'select y from (select x as y from public.people) s',
          `select v.x from (values ('${value}')) v (x), public.people where people.id = 1 and public.people.x = v.x`,
          'with p as (select x from public.people where id = 1) select x from p',
          'select array(select x) from public.people p',
          `update public.people set id = id where id = 1 returning x`,
        ])
          await isRaw('owner', ...renames, text)
        const conflict = `insert into public.people values (1, 1, '') on conflict (x) do nothing`
        for (const text of ['copy public.people (x) to stdout', conflict])
          assert.deepEqual((await watch('owner', ...renames, text)).raw, [email], text)
        for (const text of [
          'select people_id from public.people, public.pets',
          'select count(*) as n, city as c from public.people group by c order by n, c',
          'select distinct on (c) city as c from public.people order by c',
          'select city as c from public.people union select 1 order by c',
          'select (select 1 as n union select 2 order by n limit 1) from public.people',
          'select n from public.people, (select 1 as n) s',
          'select n from public.people, generate_series(1, 2) n',
          'with s (n) as (select 1) select n, id from s, public.people order by n',
          'select 1 from public.pets where exists (select from public.people where people.id = people_id)',
          'select 1 from public.people join (select id, 1 as n from public.pets) s using (id) join (select 1 as n) t using (n)',
          'select e.id from public.people as e (id, c) where c = 1',
          'select ctid, tableoid from public.people',
        ])
          assert.deepEqual((await watch('auditor', text)).raw, [], text)
        const version = await readMaskVersion(target().database.sql)
        await run('alter type public.person rename attribute email to x cascade')
        assert.notEqual(await readMaskVersion(target().database.sql), version)
        await run('alter type public.person rename attribute x to email cascade')
      },
    )

    clause(
      'GATE-276',
      'A statement that changes an attribute of a type or a domain, or moves an extension to another schema,…',
      async () => {
        for (const text of [
          'alter type public.person rename attribute email to x cascade',
          'alter type public.person add attribute more int cascade',
          'alter extension masquerade_none set schema public',
        ])
          assert.ok((await watch('owner', 'begin', text)).isUnparsed, text)
        // The error has a value of each table with a column of the domain.
        await isUnparsed('owner', 'alter domain public.mail add check (value::int > 0)')
      },
    )

    clause(
      'GATE-277',
      'A statement that may tie another table to one whose writes fail with masked values touches these, as…',
      async () => {
        await isRaw('keeper', 'delete from public.cities where id = 1')
        await isRaw(
          'keeper',
          'begin; create table public.q (id int primary key); insert into public.q values (1), (2), (3)',
          'alter table public.cities add foreign key (id) references public.q on delete cascade',
          'delete from public.q where id = 2',
        )
        await isRaw(
          'keeper',
          'begin; create table public.q (id int not null); alter table public.cities inherit public.q',
          'delete from public.q where id = 3',
        )
        await isRaw(
          'keeper',
          'begin; create table public.q (id int not null) partition by list (id)',
          'alter table public.q attach partition public.cities for values in (1, 2, 3)',
          'delete from public.q where id = 3',
        )
        // The tie counts when it is made: the gateway may hear of it too late.
        const tie = 'create table public.q () inherits (public.cities)'
        assert.deepEqual((await watch('keeper', 'begin', tie)).raw, [email])
        for (const text of [
          'create table public.q (id int references public.cities)',
          'create table public.q () inherits (public.pets)',
        ])
          assert.deepEqual((await watch('keeper', 'begin', text)).raw, [], text)
      },
    )

    clause(
      'GATE-278',
      'The samples of a materialized view that shows masked columns are samples of these columns (GATE-205):…',
      async () => {
        const reads = `select histogram_bounds::text from pg_stats where tablename = 'stored'`
        assert.deepEqual((await watch('viewer', reads)).raw, [email, 'public.stored.email'])
        // This role has neither the table nor the view.
        assert.deepEqual((await watch('keeper', reads)).raw, [])
      },
    )

    clause(
      'GATE-279',
      'A name with a database in front is one of this database, by whatever letters: PostgreSQL itself refuses…',
      async () => {
        const name = `café_${target().role('d')}`
        await run(`create database "${name}" template template0 encoding 'LATIN1' locale 'C'`)
        const url = target().url.replace(/[^/]*$/, encodeURIComponent(name))
        const database = openDatabase({ url, searchPath: 'public' })
        try {
          await database.sql.unsafe(`create table public.people (email text);
            insert into public.people values ('${value}'); grant select on public.people to ${role('auditor')}`)
          await takeTurn(database, policy([rule(email, 'Email')], [target().role('auditor')]))
          const other = await openWatchedGateway({ ...target(), database, url })
          // The bytes of its name, as letters of this encoding.
          const spelled = Buffer.from(name).toString('latin1')
          for (const each of [name, spelled]) {
            const { shown, raw } = await watchSteps(other, 'auditor', [
              `select email from "${each}".public.people`,
            ])
            assert.match(shown, each === name ? /^0A000 / : new RegExp(value))
            assert.deepEqual(raw, each === name ? [] : [email], each)
          }
          await other.close()
        } finally {
          await database.close()
          await run(`drop database "${name}"`)
        }
      },
    )

    clause(
      'GATE-280',
      'An error of REINDEX, CLUSTER, VACUUM, ANALYZE or REFRESH MATERIALIZED VIEW is `unparsed`: it may show…',
      async () => {
        await watch('owner', 'create unique index concurrently twice on public.people (email)')
        const [schema, name] = ['public', new URL(target().url).pathname.slice(1)]
        await isUnparsed('owner', 'reindex index public.twice')
        await target().createRole('root', 'LOGIN SUPERUSER')
        await gateway().refresh()
        for (const text of [`reindex schema ${schema}`, `reindex database "${name}"`])
          await isUnparsed('root', text)
        await run(
          'drop index public.twice; create statistics public.odd on (email::int), id from public.people',
        )
        await isUnparsed('owner', 'analyze public.people')
        await isUnparsed('root', 'vacuum full analyze')
        await run(`create materialized view public.numbers as select email::int from public.people with no data;
          alter materialized view public.numbers owner to ${role('owner')}`)
        await gateway().refresh()
        await isUnparsed('owner', 'refresh materialized view public.numbers')
        // Its query does not name the table.
        await run(`create function public.peek() returns int language sql as 'select email::int from public.people limit 1';
          create materialized view public.peeked as select public.peek() with no data;
          alter materialized view public.peeked owner to ${role('owner')}`)
        await isUnparsed('owner', 'refresh materialized view public.peeked')
        await run('drop statistics public.odd; create index kept on public.people (id)')
        for (const text of ['reindex index public.kept', 'vacuum', 'analyze public.people', 'cluster']) {
          const { shown, isUnparsed, raw } = await watch('owner', text)
          assert.deepEqual([shown, isUnparsed, raw], ['[[]]', false, []], text)
        }
        await run('drop index public.kept')
      },
    )
  })
})
