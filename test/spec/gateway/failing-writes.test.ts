import assert from 'node:assert/strict'
import { describe } from 'node:test'
import { readWatched } from '../../../src/findings/per-role/read-watched.ts'
import { message, query } from '../../../src/wire/messages.ts'
import { connectWire } from '../../support/byte-client.ts'
import { clause } from '../../support/clause.ts'
import { majorOf } from '../../support/cluster.ts'
import { forEachCluster } from '../../support/postgres.ts'
import { email, useWatchedDatabase, value } from '../../support/watched-database.ts'

forEachCluster((cluster) => {
  describe('what errors of writes touch', () => {
    const roles = ['auditor', 'analyst', 'clerk', 'visitor']
    const database = useWatchedDatabase(cluster, roles, async (all) => {
      await run(`create table public.cities (id int primary key, note text); insert into public.cities values (1), (2);
        create table public.people (id int primary key, name text not null, email text,
          city int not null default 1 references public.cities on delete set null on update cascade check (city < 9));
        insert into public.people values (1, 'Ann', '${value}');
        create view public.places as select id, note from public.cities;
        create view public.names as select id, name from public.people;
        create table public.orders (id int);
        create rule clears as on insert to public.orders do also delete from public.cities where id = new.id;
        grant usage on schema public to ${all};
        grant select, insert, update, delete on public.people, public.names to ${role('auditor')};
        grant all on public.cities to ${role('auditor')}, ${role('analyst')};
        grant select, insert on public.cities to ${role('clerk')};
        grant all on public.places, public.orders to ${all}`)
      await mask([email], ['auditor'])
    })
    const { target, gateway, role, run, mask, watch, isRaw } = database

    async function isNotRaw(name: string, code: string, ...texts: string[]): Promise<void> {
      const { shown, raw } = await watch(name, ...texts)
      assert.match(shown, new RegExp(`^${code} `), `${name} ${texts}`)
      assert.doesNotMatch(shown, new RegExp(value), `${name} ${texts}`)
      assert.deepEqual(raw, [], `${name} ${texts}`)
    }

    clause(
      'GATE-257',
      'INSERT, COPY FROM and TRUNCATE run no action of a foreign key, and change no row that is there: an…',
      async () => {
        for (const name of ['auditor', 'analyst']) {
          await isNotRaw(name, '23505', 'insert into public.cities values (1)')
          await isNotRaw(
            name,
            '23505',
            'insert into public.places values (1) on conflict (id) do nothing',
            'insert into public.places values (1)',
          )
          await isNotRaw(name, '0A000', 'truncate public.cities')
          await isNotRaw(name, '22012', 'begin', 'truncate public.orders', 'select 1/0')
          await isRaw(name, 'delete from public.cities where id = 1')
          await isRaw(name, 'insert into public.cities values (1) on conflict (id) do update set id = 9')
          if (majorOf(cluster) >= 15)
            await isRaw(
              name,
              'merge into public.cities c using (values (1)) v (id) on c.id = v.id when matched then delete',
            )
        }
        await isNotRaw('auditor', '23502', 'insert into public.names values (3, null)')
        await isRaw('auditor', 'update public.names set name = null where id = 1')
        const { raw } = await watch('analyst', `copy public.cities from '/nowhere'`)
        assert.deepEqual(raw, [])
      },
    )

    clause(
      'GATE-270',
      'The action of a foreign key counts for every role that may run it: by UPDATE or DELETE on the table that…',
      async () => {
        for (const name of ['visitor', 'clerk', 'analyst', 'auditor']) {
          await isRaw(name, 'delete from public.places where id = 1')
          await isRaw(name, 'update public.places set id = 9 where id = 1')
          await isRaw(name, 'insert into public.orders values (1)')
        }
        await isNotRaw('clerk', '23505', 'insert into public.cities values (1)')
        await isNotRaw('clerk', '42501', 'delete from public.cities')
      },
    )

    clause(
      'GATE-271',
      'An exclusion constraint with an expression counts with all masked columns of its table, and a key…',
      async () => {
        await run(`create table public.logs (id int, day int, email text) partition by range (day);
          create table public.logs_1 partition of public.logs for values from (0) to (10);
          alter table public.logs_1 add exclude (lower(email) with =);
          create view public.days as select id, day, email from public.logs;
          insert into public.logs values (1, 1, '${value}');
          grant select, insert on public.logs, public.logs_1, public.days to ${role('auditor')}`)
        await mask([email, 'public.logs.email'], ['auditor'])
        await gateway().refresh()
        for (const table of ['logs_1', 'logs', 'days']) {
          const { shown, raw } = await watch(
            'auditor',
            `insert into public.${table} values (2, 2, '${value.toUpperCase()}')`,
          )
          assert.match(shown, new RegExp(`existing key .*${value}`), table)
          assert.ok(raw.includes('public.logs_1.email'), `${table}: ${raw}`)
        }
        if (majorOf(cluster) < 18) return
        await run(`create table public.stays (room int4range, during int4range, primary key (room, during without overlaps));
          grant insert, select on public.stays to ${role('auditor')}`)
        const observed = [{ schema: 'public', table: 'stays', column: 'room' }]
        const auditor = target().role('auditor')
        const { watched, rows } = (await readWatched(target().database.sql, [auditor], null, observed)).get(
          auditor,
        ) ?? { watched: [], rows: [] }
        const fails = watched.find(({ name }) => name === 'stays')?.fails ?? []
        assert.deepEqual(
          fails.map((row) => rows[row]),
          [['public.stays.room']],
        )
      },
    )

    clause(
      'GATE-264',
      'An error counts the writes of transactions that may not be over (GATE-255), also where the client sends…',
      async () => {
        const writes = query(`update public.people set name = 'Ann' where id = 1`)
        const fails = query('update public.people set name = null where id = 1')
        const sleeps = query('select pg_sleep(0.2)')
        const course = async (run: (client: Awaited<ReturnType<typeof connectWire>>) => Promise<void>) => {
          const touches = await gateway().watch(async () => {
            const client = await connectWire(gateway().configOf('auditor'))
            await run(client)
            await client.close()
          })
          return [...new Set(touches.flatMap(({ raw }) => raw))]
        }
        // The server always has something to do.
        const pipelined = await course(async (client) => {
          client.write(writes, sleeps)
          await client.read()
          client.write(query('select 1/0'), sleeps)
          assert.equal((await client.read(2)).error?.get('C'), '22012')
          await client.read()
        })
        assert.deepEqual(pipelined, [])
        const late = await course(async (client) => {
          client.write(sleeps, fails)
          assert.match((await client.read(2)).error?.get('D') ?? '', new RegExp(value))
        })
        assert.deepEqual(late, [email])
        const copied = await course(async (client) => {
          client.write(query('copy public.orders from stdin'), message('d', 'x\n'), message('S'))
          assert.equal((await client.read()).error?.get('C'), '22P02')
          client.write(fails)
          assert.match((await client.read(2)).error?.get('D') ?? '', new RegExp(value))
        })
        assert.deepEqual(copied, [email])
      },
    )

    clause(
      'GATE-258',
      'What errors show of a table is held once for a role, however many relations lead to it: the memory for the audit…',
      async () => {
        await target().createRole('many')
        const [tables, columns, views] = [20, 20, 200]
        const each = Array.from({ length: columns }, (_, column) => `c${column} text`).join()
        await run(`create schema wide; create table wide.hub (id int primary key);
          do $$ begin
            for n in 1..${tables} loop
              execute format('create table wide.t%s (hub int references wide.hub on delete set null, ${each})', n);
            end loop;
            for n in 1..${views} loop execute format('create view wide.v%s as select id from wide.hub', n); end loop;
          end $$;
          grant select, update on all tables in schema wide to ${role('many')}`)
        const observed = Array.from({ length: tables * columns }, (_, at) => ({
          schema: 'wide',
          table: `t${1 + Math.floor(at / columns)}`,
          column: `c${at % columns}`,
        }))
        const many = target().role('many')
        const found = (await readWatched(target().database.sql, [many], null, observed)).get(many)
        assert.ok(found)
        const last = found.watched.find(({ name }) => name === `v${views}`)
        const shown = new Set(last?.failsOnChange?.flatMap((row) => found.rows[row] ?? []))
        assert.equal(shown.size, tables * columns)
        // Each name of a column takes at least 10 bytes: a list for each view would have 800,000.
        assert.ok(JSON.stringify(found).length < 400_000, `${JSON.stringify(found).length}`)
      },
    )

    clause(
      'GATE-267',
      'An error after a statement that changes rows of a masked table touches the masked columns that the statement names,…',
      async () => {
        const { port, username, password, pathname } = new URL(target().url)
        const analyst = role('analyst')
        await run(`create table public.notes (id int primary key, name text not null, email text, tags text[],
            low text generated always as (lower(email)) stored);
          insert into public.notes values (1, 'n', '${value}', '{${value}}');
          create view public.pane as select id, name as called, email as mail, tags from public.notes;
          create table public.asks (id int);
          create rule asks as on insert to public.asks do also update public.notes set name = null, tags[2] = 'x' where id = new.id;
          create extension postgres_fdw;
          create server loop foreign data wrapper postgres_fdw
            options (host '127.0.0.1', port '${port}', dbname '${pathname.slice(1)}');
          create user mapping for public server loop options (user '${username}', password '${decodeURIComponent(password)}');
          create foreign table public.far (id int, name text, email text) server loop options (table_name 'notes');
          create view public.afar as select id, name from public.far;
          grant select, insert, update, delete on public.notes, public.pane, public.asks, public.far, public.afar to ${analyst}`)
        await mask([email, 'public.notes.email', 'public.notes.tags', 'public.far.email'], ['auditor'])
        await gateway().refresh()
        const shows = async (texts: string | string[], ...columns: string[]) => {
          const { shown, raw } = await watch('analyst', ...[texts].flat())
          assert.match(shown, new RegExp(value), `${texts}`)
          assert.deepEqual(raw, columns.sort(), `${texts}`)
        }
        const [mail, tags, low, far] = ['notes.email', 'notes.tags', 'notes.low', 'far.email'].map(
          (each) => `public.${each}`,
        ) as [string, string, string, string]
        const upsert = 'on conflict (id) do update set name = null'
        await shows(`insert into public.notes (id, name, email) values (1, 'x', 'x') ${upsert}`, mail)
        await shows(`insert into public.notes values (1, 'x', 'x', '{}') ${upsert}`, mail, tags, low)
        await shows('update public.notes set low = default, name = null', low)
        await shows(`update public.notes set tags[2] = 'x', name = null`, tags)
        const viewed = [mail, tags]
        await shows(`update public.pane set tags[2] = 'x', called = null`, ...viewed)
        await shows('insert into public.asks values (1)', tags)
        // The rule counts when it is made: the gateway hears of it later.
        const own = 'create rule own as on insert to own do also'
        await shows(
          [
            'create temp table own (id int)',
            `${own} update public.notes set name = null, tags[2] = 'x'`,
            'insert into own values (1)',
          ],
          tags,
        )
        await shows('update public.far set name = null', far)
        await shows('update public.afar set name = null', far)
        const merge = (into: string, column: string, name: string) =>
          `merge into public.${into} using (values (1)) v on true when matched and false then update set ${column} = 'x'
            when matched then update set ${name} = null`
        if (majorOf(cluster) >= 15) {
          await shows(merge('notes', 'email', 'name'), mail)
          await shows(
            `merge into public.notes using (values (1)) v on true when not matched then insert (email) values ('x')
              when matched then update set name = null`,
            mail,
          )
        }
        if (majorOf(cluster) >= 17) await shows(merge('pane', 'mail', 'called'), ...viewed)
        await run(`create function public.keep() returns trigger language plpgsql as
            $$ begin new.email := old.email; return new; end $$;
          create trigger keep before update on public.notes for each row execute function public.keep()`)
        await shows(`update public.notes set email = 'x', name = null`, mail)
        await isNotRaw('analyst', '23502', 'update public.notes set name = null')
        await isNotRaw('analyst', '23505', `insert into public.notes (id, name, email) values (1, 'x', 'x')`)
        await isNotRaw('analyst', '22012', 'delete from public.notes where id = 1 / 0')
        await isNotRaw(
          'analyst',
          '23502',
          `insert into public.notes (id, name, email) values (2, null, 'x') on conflict (id) do nothing`,
        )
        const fine = await watch('analyst', `update public.notes set email = 'x'`)
        assert.deepEqual([fine.shown, fine.raw, fine.written], ['[[]]', [], [mail]])
      },
    )
  })
})
