import assert from 'node:assert/strict'
import { after, before, describe } from 'node:test'
import type { Database } from '../../../src/db/database.ts'
import { reconcile } from '../../../src/enforcement/reconcile.ts'
import { PartlyEnforced } from '../../../src/enforcement/reconcile-by-relation.ts'
import { clause } from '../../support/clause.ts'
import { createMaskedDatabase, policy, rule } from '../../support/masked-database.ts'
import { forEachCluster } from '../../support/postgres.ts'
import { waitUntil } from '../../support/wait-until.ts'

const canary = 'zqcanary'

/** A masked role that may create objects, or that holds a grant option, turns the work of the binding to its own ends. */
forEachCluster((cluster) => {
  for (const isSuperuser of [true, false])
    describe(`insiders, with ${isSuperuser ? "a superuser's binding" : 'a binding that is a member of the owners'}`, () => {
      let target: Awaited<ReturnType<typeof createMaskedDatabase>>
      let binding: Database
      let [analyst, auditor, binder]: string[] = []
      const run = (text: string) => target.database.sql.unsafe(text)
      const readAs = (name: string, text: string) => target.runAs(name, text)
      const mask = () => reconcile(binding, policy([rule('app.people.mail')]))
      const unmask = () => reconcile(binding, policy([]))

      before(async () => {
        target = await createMaskedDatabase(cluster)
        analyst = await target.createRole('analyst')
        auditor = await target.createRole('auditor')
        binder = await target.createRole('binder', 'LOGIN CREATEROLE')
        const owner = await target.createRole('owner', 'NOLOGIN')
        const database = target.url.replace(/^.*\//, '')
        await run(`create schema app; grant usage on schema app to public;
          create table app.people (id int, mail text); insert into app.people values (1, '${canary}');
          alter table app.people owner to "${owner}"; grant "${owner}", "${analyst}" to "${binder}"; set role "${owner}";
          grant select on app.people to "${analyst}"; grant select on app.people to "${auditor}" with grant option;
          reset role; grant create on database "${database}" to "${analyst}", "${binder}"`)
        binding = isSuperuser ? target.database : target.connectAs('binder')
      })
      after(() => target[Symbol.asyncDispose]())

      clause(
        'ENF-219',
        'A literal of a type that a role made runs no code while a twin is made, also inside of arrays, rows and ranges of domains: …',
        async () => {
          await readAs(
            'analyst',
            `create schema lair; grant usage on schema lair to public; create table lair.seen (by text);
            grant all on lair.seen to public; create function lair.spy(text) returns bool language plpgsql as $$
              begin
                if session_user <> '${analyst}' then insert into lair.seen values (session_user); end if;
                return true;
              end $$;
            create domain lair.word as text check (lair.spy(value)); create type lair.pair as (a lair.word, b int);
            create type lair.words as range (subtype = lair.word);
            create view lair.array as select '{x}'::lair.word[] as lure, id, mail from app.people;
            create view lair.row as select '(é,1)'::lair.pair as lure, id, mail from app.people;
            create view lair.range as select '[a,b]'::lair.words as lure, id, mail from app.people;
            create table lair.own (id int, mail text); alter table lair.own enable row level security;
            create policy few on lair.own as restrictive to "${auditor}" using ('{x}'::lair.word[] is not null);
            create policy all_of on lair.own using (true); insert into lair.own values (1, '${canary}');
            grant select on lair.own to "${auditor}"`,
          )
          await reconcile(binding, policy([rule('app.people.mail'), rule('lair.own.mail')]))
          assert.deepEqual(await run('select * from lair.seen'), [])
          for (const [name, lure] of [
            ['array', '{x}'],
            ['row', '(é,1)'],
            ['range', '[a,b]'],
          ])
            assert.deepEqual(
              (await readAs('analyst', `select lure::text, mail from masked_lair.${name}`)).map((row) => ({
                ...row,
              })),
              [{ lure, mail: 'XXXX' }],
              name,
            )
          assert.equal((await readAs('auditor', 'select mail from masked_lair.own'))[0]?.mail, 'XXXX')
          await unmask()
          await run('drop schema lair cascade')
        },
      )

      clause(
        'ENF-240',
        'A literal without a type runs no code while a twin is made: a view or row policy that gives one to a function or operator outside pg_catalog has no twin or lets no row through. …',
        async () => {
          await readAs(
            'analyst',
            `create schema lair; grant usage on schema lair to public; create table lair.seen (by text);
            grant all on lair.seen to public; create function lair.spy(text) returns bool language plpgsql as $$
              begin
                if session_user <> '${analyst}' then insert into lair.seen values (session_user); end if;
                return true;
              end $$;
            create domain lair.word as text check (lair.spy(value)); create type lair.pair as (a lair.word, b int);
            create aggregate lair.a(variadic "any") (sfunc = concat_ws, stype = text);
            create view lair.call as select lair.a('{x}', null::lair.word[]) as lure, max(mail) as mail from app.people;
            create view lair.row as select lair.a(row('x', 1), null::lair.pair) as lure, max(mail) as mail from app.people;
            create view lair.usual as select concat('a', id, 'b') as a, jsonb_build_object('k', id, 'l', row('x')) as b,
              format('%s', 'c') as c, extract(year from date '2020-01-01') as d, concat_ws('-', 'e', 'f') as e,
              xmlelement(name e, xmlattributes('g' as h), 'i')::text as f, mail from app.people;
            create function lair.a(lair.word[], lair.word[]) returns text language sql as 'select ''y''::text';
            create function lair.a(lair.pair, lair.pair) returns text language sql as 'select ''y''::text'`,
          )
          await mask()
          assert.deepEqual(await run('select * from lair.seen'), [])
          const twins = await run(
            `select viewname::text as name from pg_views where schemaname = 'masked_lair' order by viewname`,
          )
          assert.deepEqual(
            twins.map(({ name }) => name),
            ['usual'],
          )
          const [usual] = await readAs('analyst', 'select * from masked_lair.usual')
          assert.deepEqual(
            { ...usual },
            {
              ...{ a: 'a1b', b: { k: 1, l: { f1: 'x' } }, c: 'c', d: '2020', e: 'e-f' },
              ...{ f: '<e h="g">i</e>', mail: 'XXXX' },
            },
          )
          await unmask()
          await run('drop schema lair cascade')
        },
      )

      clause(
        'ENF-241',
        'The mask of an enum names no label: a type that its owner puts in the place of the enum while the twin is made runs no code.',
        async () => {
          await readAs(
            'analyst',
            `create schema lair; grant usage on schema lair to public; create sequence lair.runs;
            grant all on sequence lair.runs to public; create function lair.spy(text) returns bool language plpgsql as $$
              begin
                if session_user <> '${analyst}' then perform nextval('lair.runs'); end if;
                return true;
              end $$;
            create domain lair.word as text check (lair.spy(value)); create type lair.mood as enum ('(1)', 'sad')`,
          )
          await run("alter table app.people add mood lair.mood default 'sad'")
          const rules = policy([rule('app.people.mail'), rule('app.people.mood')])
          let isExchanged = false
          await reconcile(binding, rules, {
            async beforeStep() {
              if (isExchanged) return
              isExchanged = true
              await readAs(
                'analyst',
                'alter type lair.mood rename to mood_; create type lair.mood as (a lair.word)',
              )
            },
          }).catch(() => undefined)
          assert.equal(isExchanged, true)
          const [runs] = await run('select is_called from lair.runs')
          assert.equal(runs?.is_called, false)
          await readAs('analyst', 'drop type lair.mood; alter type lair.mood_ rename to mood')
          await unmask()
          await reconcile(binding, rules)
          const [row] = await readAs('analyst', 'select mood::text from masked_app.people')
          assert.equal(row?.mood, '(1)')
          await unmask()
          await run('alter table app.people drop mood; drop schema lair cascade')
        },
      )

      clause(
        'ENF-220',
        'A role of the binding that is a member of the owner of a table revokes grants as the owner: a grant option that other roles gave the binding, or a role that it inherits from, leaves no grant of the owner in place.',
        async () => {
          const group = await target.createRole('group', 'NOLOGIN')
          await run(`grant "${group}" to "${binder}"`)
          for (const holder of [binder, group]) {
            await readAs('auditor', `grant select on app.people to "${holder}" with grant option`)
            await mask()
            for (const name of ['analyst', 'auditor'])
              await assert.rejects(readAs(name, 'select mail from app.people'), /permission denied/)
            await unmask()
            for (const name of ['analyst', 'auditor'])
              assert.equal((await readAs(name, 'select mail from app.people'))[0]?.mail, canary)
            await run(`revoke select on app.people from "${holder}" cascade`)
          }
        },
      )

      const passesOn =
        'A grant of a column that a role passed on by a grant option of the whole relation is revoked with it, also where the role goes on passing it on during the turn.'

      clause('ENF-295', passesOn, async () => {
        const heir = await target.createRole('heir')
        await run(`grant references on app.people to "${auditor}" with grant option`)
        await readAs('auditor', `grant select (mail), references (mail) on app.people to "${heir}"`)
        await mask()
        await readAs('auditor', `grant select (mail) on masked_app.people to "${heir}"`)
        const [held] =
          await run(`select has_column_privilege('${heir}', 'app.people', 'mail', 'select') as select,
          has_column_privilege('${heir}', 'app.people', 'mail', 'references') as references`)
        assert.deepEqual({ ...held }, { select: false, references: false })
        await unmask()
        assert.equal((await readAs('heir', 'select mail from app.people'))[0]?.mail, canary)
        await run(`revoke references on app.people from "${auditor}", "${heir}" cascade`)
      })

      clause('ENF-295', passesOn, async () => {
        const [heir, { sql }] = [target.role('heir'), target.connectAs('auditor')]
        let [isOver, passed] = [false, 0]
        const passing = (async () => {
          for (let at = 0; !isOver; at++)
            await sql
              .unsafe(
                `${at % 2 === 0 ? 'grant' : 'revoke'} select (mail) on app.people ${at % 2 === 0 ? 'to' : 'from'} "${heir}"`,
              )
              .then(
                () => passed++,
                () => {},
              )
        })()
        await waitUntil('the grant is passed on', () => passed > 5)
        const error = await mask().catch((cause: unknown) => cause)
        isOver = true
        await passing
        if (error instanceof Error) assert.ok(error instanceof PartlyEnforced, error.message)
        for (const name of ['analyst', 'auditor', 'heir'])
          await assert.rejects(readAs(name, 'select mail from app.people'), /permission denied/)
        await mask()
        await unmask()
      })

      /** A record that gives the analyst SELECT on a relation. */
      const forge = (relation: string) => `
        insert into masquerade_guard.relation (oid, grants, column_grants, pins, lent, hides_all)
        select c.oid, jsonb_build_array(jsonb_build_object('grantor', c.relowner::int8, 'grantee', r.oid::int8, 'grantable', false)),
          '[]', '[]', '{}', true
        from pg_class c, pg_roles r where c.oid = '${relation}'::regclass and r.rolname = '${analyst}'`
      const readRecords = () =>
        run(`select (select jsonb_agg(r) from masquerade_guard.relation r) as relations,
          (select jsonb_agg(p) from masquerade_guard.policy p) as policy`)

      clause(
        'ENF-250',
        "No role but the owner of the controller's records and superusers can insert, update or delete them, members of pg_write_all_data included…",
        async () => {
          await run(`create table app.salary (amount int); insert into app.salary values (4711);
            alter table app.salary owner to "${target.role('owner')}"; grant pg_write_all_data to "${analyst}"`)
          await mask()
          const tryAll = async () => {
            const before = await readRecords()
            for (const text of [
              forge('app.salary'),
              `insert into masquerade_guard.policy (singleton) values (true)
                on conflict (singleton) do update set epoch = 9223372036854775807`,
              `update masquerade_guard.relation set twin = '{"schema": "lair", "name": "people"}'`,
              `update masquerade_guard.policy set epoch = 9223372036854775807, ending = '{${auditor}}'`,
            ])
              await assert.rejects(
                readAs('analyst', text),
                /violates check constraint|permission denied/,
                text,
              )
            for (const table of ['relation', 'policy'])
              await readAs('analyst', `delete from masquerade_guard.${table}`)
            assert.deepEqual(await readRecords(), before)
            // As one that was granted the setting could.
            for (const table of ['relation', 'policy'])
              await run(`begin; set local session_replication_role = replica; set local role "${analyst}";
                delete from masquerade_guard.${table}; commit`)
            assert.deepEqual(await readRecords(), before)
            assert.deepEqual((await mask()).steps, [])
            await assert.rejects(readAs('analyst', 'select amount from app.salary'), /permission denied/)
          }
          await tryAll()
          // As an earlier release left them.
          for (const table of ['relation', 'policy'])
            await run(`alter table masquerade_guard.${table} drop constraint controller_alone;
              drop rule controller_alone on masquerade_guard.${table}`)
          assert.notDeepEqual((await mask()).steps, [])
          await tryAll()
          await run(`revoke pg_write_all_data from "${analyst}"; drop table app.salary`)
          await unmask()
          assert.equal((await readAs('analyst', 'select mail from app.people'))[0]?.mail, canary)
        },
      )

      clause(
        'ENF-251',
        'Enforcement changes no relation of the server itself, nor one of its own records, whatever a record says.',
        async () => {
          await mask()
          const relations = ['pg_catalog.pg_statistic', 'pg_catalog.pg_authid', 'masquerade_guard.policy']
          // By a superuser: other roles cannot.
          for (const relation of relations) await run(forge(relation))
          await mask()
          for (const relation of relations)
            await assert.rejects(readAs('analyst', `select * from ${relation}`), /permission denied/)
          await unmask()
          for (const relation of relations.slice(0, 2))
            await assert.rejects(readAs('analyst', `select * from ${relation}`), /permission denied/)
        },
      )

      clause(
        'ENF-252',
        "Owning a view or materialized view over a masked table opens the controller's records to no role.",
        async () => {
          await mask()
          await readAs(
            'analyst',
            `create schema nest; create view nest.plain as select id from app.people;
            create materialized view nest.stored as select id from app.people`,
          )
          await mask()
          await assert.rejects(
            readAs('analyst', 'select exempt from masquerade_guard.policy'),
            /permission denied/,
          )
          await unmask()
          await run('drop schema nest cascade')
        },
      )
    })
})
