import assert from 'node:assert/strict'
import { describe } from 'node:test'
import { clause } from '../../support/clause.ts'
import { majorOf } from '../../support/cluster.ts'
import { forEachCluster } from '../../support/postgres.ts'
import { email, useWatchedDatabase, value } from '../../support/watched-database.ts'

forEachCluster((cluster) => {
  describe('reads of masked columns that no name in the statement shows', () => {
    const database = useWatchedDatabase(cluster, ['auditor', 'analyst'], async (all) => {
      await run(`create table public.people (id int primary key, name text not null, email text);
        insert into public.people values (1, 'Ann', '${value}');
        grant select, insert, update, delete on public.people to ${all};
        grant usage, create on schema public to ${all}`)
      await mask([email], ['auditor'])
    })
    const { target, gateway, role, run, mask, watch, isRaw } = database

    clause(
      'GATE-390',
      'A view that reads with the privileges of its reader moves to its twin for a role that may not…',
      async () => {
        if (majorOf(cluster) < 15) return
        await run(`create view public.mine with (security_invoker) as select id, email from public.people;
          create view public.ours with (security_invoker) as select id, email from public.mine;
          grant select on public.mine, public.ours to ${role('auditor')}, ${role('analyst')}`)
        await mask([email], ['auditor'])
        await gateway().refresh()
        for (const name of ['mine', 'ours']) {
          const text = `select email from public.${name} where id = 1`
          const masks = await watch('analyst', text)
          assert.match(masks.shown, /XXX@XXXX\.com/, name)
          assert.deepEqual([masks.raw, masks.masked], [[], [email]], name)
          const { shown, raw } = await watch('auditor', text)
          assert.match(shown, new RegExp(value), name)
          assert.deepEqual(raw, [email], name)
        }
        await run('drop view public.mine cascade')
        await mask([email], ['auditor'])
        await gateway().refresh()
      },
    )

    clause(
      'GATE-251',
      'A write to a relation touches the masked columns that its rules on INSERT, UPDATE and DELETE…',
      async () => {
        await run(`create table public.news (id int); create table public.deeper (id int);
          create view public.over as select id from public.news;
          create rule shows as on insert to public.news do also select id, email from public.people;
          create rule passes as on insert to public.deeper do also insert into public.news values (new.id);
          create rule own as on delete to public.people do also select p from public.people p;
          grant select, insert on public.news, public.deeper, public.over to ${role('auditor')}, ${role('analyst')}`)
        await gateway().refresh()
        for (const name of ['news', 'deeper', 'over'])
          await isRaw('auditor', `insert into public.${name} values (1)`)
        await run(`insert into public.people values (2, 'Bob', '')`)
        await isRaw('auditor', 'delete from public.people where id = 2')
        // The rule runs as the owner of its table.
        await isRaw('analyst', 'insert into public.news values (1)')
        const { raw, masked } = await watch('auditor', 'select * from public.news, public.over')
        assert.deepEqual([raw, masked], [[], []], 'a rule on INSERT reads nothing for SELECT')
        await run('drop rule own on public.people')
      },
    )

    clause(
      'GATE-251',
      'A write to a relation touches the masked columns that its rules on INSERT, UPDATE and DELETE…',
      async () => {
        await run(`create table public.guarded (id int); insert into public.guarded values (1);
          alter table public.guarded enable row level security;
          create policy reads on public.guarded using (exists (select from public.people p where p.email = '${value}'));
          create table public.behind (id int); alter table public.behind enable row level security;
          create policy deep on public.behind using (exists (select from public.guarded));
          create view public.above as select id from public.guarded;
          grant all on public.guarded, public.behind, public.above to ${role('auditor')}, ${role('analyst')}`)
        await gateway().refresh()
        for (const text of [
          'select id from public.guarded',
          'select id from public.behind',
          'select id from public.above',
          'insert into public.guarded values (2)',
          'update public.guarded set id = 3 where false',
        ])
          assert.deepEqual((await watch('auditor', text)).raw, [email], text)
        // A policy runs as the role that reads: this one is denied.
        const denied = await watch('analyst', 'select id from public.guarded')
        assert.match(denied.shown, /^42501/)
        assert.deepEqual([denied.raw, denied.masked, denied.denied], [[], [], [email]])
        const stores = await watch(
          'analyst',
          'create temp table kept (id int)',
          'insert into kept select id from public.news',
        )
        assert.equal(stores.shown, '[[]]')
      },
    )

    clause(
      'GATE-252',
      'INSERT into a view touches every masked column that the view reads, as UPDATE and DELETE do:…',
      async () => {
        await run(`create table public.mine (id int primary key, note text);
          create view public.joined as select m.id, m.note, (select p.email from public.people p where p.id = m.id) as e
            from public.mine m;
          grant select, insert, update on public.joined to ${role('auditor')}`)
        await gateway().refresh()
        await isRaw('auditor', 'insert into public.joined (id) values (1) returning e')
        const upsert =
          'insert into public.joined (id) values (1) on conflict (id) do update set note = joined.e'
        await isRaw('auditor', upsert, 'select note from public.joined')
        assert.deepEqual((await watch('auditor', upsert)).raw, [email])
      },
    )

    clause(
      'GATE-253',
      'The owner of a relation counts as a reader of it, and so does a role that may become the owner:…',
      async () => {
        await target().createRole('heir', 'LOGIN NOINHERIT')
        await run(`create view public.owned as select email from public.people;
          alter view public.owned owner to ${role('auditor')};
          revoke select on public.owned from ${role('auditor')};
          grant ${role('auditor')} to ${role('heir')}`)
        await gateway().refresh()
        const grant = `grant select on public.owned to ${role('auditor')}`
        const reads = 'select email from public.owned'
        await isRaw('auditor', 'begin', grant, reads, 'rollback; begin', grant, reads)
        await isRaw('heir', `set role ${role('auditor')}`, 'begin', grant, reads)
      },
    )

    clause(
      'GATE-254',
      'A session may become every role that a chain of memberships leads to, each of them with SET or…',
      async () => {
        await target().createRole('manager', 'LOGIN NOINHERIT')
        await target().createRole('team', 'NOLOGIN')
        const [manager, team, auditor] = ['manager', 'team', 'auditor'].map(role)
        const reads = 'select email from public.people'
        // There are samples of the columns that a role may read.
        const masked = async (name: string) =>
          assert.deepEqual((await watch(name, 'select from pg_stats')).raw, [], `${name} reads no raw value`)
        const hasOptions = majorOf(cluster) >= 16
        await run(`grant ${auditor} to ${team} ${hasOptions ? 'with inherit false, set true' : ''}`)
        await gateway().refresh()
        await masked('manager')
        const only = hasOptions ? 'admin true, inherit false, set false' : 'admin option'
        await run(`grant ${team} to ${manager} with ${only}`)
        await gateway().refresh()
        const grant = `grant ${team} to ${manager} with inherit true, set true`
        await isRaw('manager', 'begin', ...(hasOptions ? [grant] : []), `set role ${auditor}`, reads)
        // By CREATEROLE alone.
        await target().createRole('maker', 'LOGIN CREATEROLE')
        await gateway().refresh()
        if (hasOptions) await masked('maker')
        else await isRaw('maker', 'begin', `grant ${auditor} to ${role('maker')}`, reads)
        if (!hasOptions) return
        // A role that only inherits can pass on what it administers, and cannot set what its role could.
        await run(`revoke ${team} from ${manager}; grant ${team} to ${manager} with inherit true, set false`)
        await gateway().refresh()
        await masked('manager')
        await run(`grant ${auditor} to ${team} with admin true`)
        await gateway().refresh()
        const takes = `grant ${auditor} to ${manager} with inherit true`
        await isRaw('manager', 'begin', takes, reads)
      },
    )

    clause(
      'GATE-255',
      'An error after a write to a masked table touches its masked columns, as raw: PostgreSQL puts the row…',
      async () => {
        const all = `${role('auditor')}, ${role('analyst')}`
        await run(`create view public.names as select id, name from public.people;
          create table public.queue (id int);
          create rule sets as on insert to public.queue do also update public.people set name = null where id = new.id;
          create table public.cities (id int primary key); insert into public.cities values (1);
          alter table public.people add city int not null default 1 references public.cities on delete set null;
          alter table public.people add unique (name, email) deferrable initially deferred;
          insert into public.people values (4, 'Cy', '${value}');
          grant select, update on public.names to ${all}; grant select, insert on public.queue to ${all};
          grant select, delete on public.cities to ${all}`)
        await gateway().refresh()
        const clears = 'update public.people set name = null where id = 1'
        const upsert = `insert into public.people values (1, '', '') on conflict (id) do update set name = null`
        await isRaw('auditor', clears)
        await isRaw('auditor', upsert)
        if (majorOf(cluster) >= 15)
          await isRaw(
            'auditor',
            'merge into public.people p using (values (1)) v (id) on p.id = v.id when matched then update set name = null',
          )
        await isRaw('auditor', 'update public.names set name = null where id = 1')
        await isRaw('auditor', 'insert into public.queue values (1)')
        for (const name of ['auditor', 'analyst']) await isRaw(name, 'delete from public.cities where id = 1')
        await isRaw('auditor', 'begin', `update public.names set name = 'Ann' where id = 4`, 'commit')
        await run('alter table public.people add exclude (email with =) where (id > 10)')
        await run(`insert into public.people values (11, 'Eve', '${value}')`)
        await gateway().refresh()
        await isRaw('auditor', `insert into public.people values (12, '', '${value}')`)
        await run('alter table public.people drop constraint people_email_excl')
        await gateway().refresh()
        const makes = 'create view public.soon as select id, name from public.people'
        assert.deepEqual((await watch('auditor', 'begin', makes)).raw, [email])
        assert.deepEqual((await watch('analyst', 'begin', makes)).raw, [])
        await isRaw('auditor', 'begin', makes, 'update public.soon set name = null where id = 1')
        // Prepared, by both protocols; the first run fails nothing.
        const text = 'update public.people set name = $1 where id = 1'
        const named = (values: (string | null)[]) => ({ name: 'n', text, values })
        await isRaw('auditor', named(['Ann']), 'select 1', named([null]))
        await isRaw('auditor', `prepare p (text) as ${text}`, `execute p ('Ann')`, 'execute p (null)')
        for (const texts of [
          [`update public.people set name = 'Ann' where id = 1`, 'select 1/0'],
          ['begin', text.replace('$1', `'Ann'`), 'commit', 'select 1/0'],
          [`insert into public.people values (1, '', '')`],
        ])
          assert.deepEqual((await watch('auditor', ...texts)).raw, [], texts.join('; '))
        const masked = await watch('analyst', clears)
        assert.doesNotMatch(masked.shown, new RegExp(value))
        assert.deepEqual(masked.raw, [])
      },
    )

    clause(
      'GATE-256',
      'A statement that names the TOAST table of a masked table, or of a materialized view that shows masked…',
      async () => {
        await target().createRole('root', 'LOGIN SUPERUSER')
        await target().createRole('reader')
        await run(`grant pg_read_all_data to ${role('reader')};
          create materialized view public.stored as select email from public.people;
          create table public.others (id int, note text)`)
        const toastOf = async (table: string) => {
          const [row] = await run(
            `select reltoastrelid::regclass::text as name from pg_class where oid = '${table}'::regclass`,
          )
          return String(row?.name)
        }
        const people = await toastOf('public.people')
        await run(`create view public.chunks as select chunk_data from ${people}`)
        await gateway().refresh()
        const names = [people, await toastOf('public.stored'), 'public.chunks']
        for (const name of ['root', 'reader'])
          for (const from of names)
            assert.deepEqual((await watch(name, `select * from ${from}`)).raw, [email], `${name} ${from}`)
        const bare = people.replace('pg_toast.', '')
        const path = 'set search_path = pg_toast'
        assert.deepEqual((await watch('root', path, `select * from ${bare}`)).raw, [email])
        const other = await watch('root', `select * from ${await toastOf('public.others')}`)
        assert.deepEqual(other.raw, [])
      },
    )
  })
})
