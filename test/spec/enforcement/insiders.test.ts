import assert from 'node:assert/strict'
import { after, before, describe } from 'node:test'
import type { Database } from '../../../src/db/database.ts'
import { reconcile } from '../../../src/enforcement/reconcile.ts'
import { clause } from '../../support/clause.ts'
import { createMaskedDatabase, policy, rule } from '../../support/masked-database.ts'
import { forEachCluster } from '../../support/postgres.ts'

const canary = 'zqcanary'

/** A masked role that may create objects, or that holds a grant option, turns the work of the binding to its own ends. */
forEachCluster((cluster) => {
  for (const isSuperuser of [true, false])
    describe(`insiders, with ${isSuperuser ? "a superuser's binding" : 'a binding that is a member of the owners'}`, () => {
      let target: Awaited<ReturnType<typeof createMaskedDatabase>>
      let binding: Database
      let [analyst, auditor, binder]: string[] = []
      const run = (text: string) => target.database.sql.unsafe(text)
      const readAs = (name: string, text: string) => target.connectAs(name).sql.unsafe(text)
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
    })
})
