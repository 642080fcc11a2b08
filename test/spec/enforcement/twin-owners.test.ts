import assert from 'node:assert/strict'
import { after, before, describe } from 'node:test'
import type { Database } from '../../../src/db/database.ts'
import { examine } from '../../../src/enforcement/preflight/preflight.ts'
import { reconcile } from '../../../src/enforcement/reconcile.ts'
import { clause } from '../../support/clause.ts'
import { majorOf } from '../../support/cluster.ts'
import { createMaskedDatabase, policy, rule } from '../../support/masked-database.ts'
import { forEachCluster } from '../../support/postgres.ts'

const canary = 'zqcanary'

/** The masked role mallory owns a masked table itself, and writes its row policies. */
forEachCluster((cluster) => {
  for (const isSuperuser of [true, false])
    describe(`owners of twins, with ${isSuperuser ? "a superuser's binding" : 'a binding that is a member of the owners'}`, () => {
      let target: Awaited<ReturnType<typeof createMaskedDatabase>>
      let binding: Database
      let [analyst, mallory, owner, binder]: string[] = []
      const run = (text: string) => target.database.sql.unsafe(text)
      const readAs = (name: string, text: string) => target.runAs(name, text)
      const rules = [rule('app.people.mail'), rule('app.staff.mail'), rule('lair.person.mail')]
      const mask = (more: typeof rules = []) => reconcile(binding, policy([...rules, ...more]))
      const unmask = () => reconcile(binding, policy([]))
      const ownerOf = async (twin: string) =>
        (
          await run(`select relowner::regrole::text as owner from pg_class where oid = '${twin}'::regclass`)
        )[0]?.owner as string
      const listTwinRoles = async () => {
        const rows = await run(`select rolname from pg_roles
          where rolname ~ ('^masquerade_twins_(.*_)?' || current_database() || '$') order by 1`)
        return rows.map(({ rolname }) => rolname as string)
      }
      /** What the reader gets to see, errors included. */
      const look = async (name: string, relation: string) =>
        readAs(name, `select * from ${relation}`).then(
          (rows) => JSON.stringify(rows),
          (error: Error) => error.message,
        )
      const spyOn = (table: string) =>
        `((select string_agg(s::text, ',') from ${table} s) || 'x')::int is not null`
      const refused = /permission denied for (table|foreign table|view|materialized view)/
      const refusedOrGone = new RegExp(`${refused.source}|does not exist`)

      before(async () => {
        target = await createMaskedDatabase(cluster)
        analyst = await target.createRole('analyst')
        mallory = await target.createRole('mallory')
        owner = await target.createRole('owner', 'NOLOGIN')
        binder = await target.createRole('binder', 'LOGIN CREATEROLE')
        const database = target.url.replace(/^.*\//, '')
        await run(`create schema app; grant usage on schema app to public; create schema lair authorization "${mallory}";
          grant usage on schema lair to public; grant create on database "${database}" to "${binder}";
          create table app.people (id int, mail text); insert into app.people values (1, '${canary}');
          alter table app.people owner to "${owner}"; grant "${owner}", "${mallory}" to "${binder}";
          create table app.staff (id int, mail text); insert into app.staff values (1, '${canary}');
          alter table app.staff owner to ${isSuperuser ? 'current_user' : `"${binder}"`};
          create table lair.person (id int, mail text); insert into lair.person values (1, 'x@lair.example');
          alter table lair.person owner to "${mallory}";
          grant select on app.people, app.staff, lair.person to "${analyst}"; grant select on app.people to "${mallory}"`)
        binding = isSuperuser ? target.database : target.connectAs('binder')
      })
      after(() => target[Symbol.asyncDispose]())

      clause(
        'ENF-71',
        'A view that roles built on a twin does not keep the last rule of a table from being deleted: the twin stays as it is, masked, and is reported, also where tables of other owners alone stay masked…',
        async () => {
          await mask()
          await run(
            `create view app.on_twin as select mail from masked_lair.person; grant select on app.on_twin to "${analyst}"`,
          )
          const release = () => reconcile(binding, policy(rules.filter(({ schema }) => schema !== 'lair')))
          const kept = majorOf(cluster) < 15 ? /permission denied/ : /XXXX/
          const { notes } = await release()
          assert.deepEqual(
            notes.map(({ code, target: kept }) => [code, kept]),
            [['TwinKept', '"masked_lair"."person"']],
          )
          assert.match(await look('analyst', 'lair.person'), /lair.example/)
          assert.match(await look('analyst', 'app.on_twin'), kept)
          assert.deepEqual((await release()).steps, [])
          assert.match(await look('analyst', 'app.on_twin'), kept)
          await run('drop view app.on_twin')
          await unmask()
          assert.deepEqual(await listTwinRoles(), [])
        },
      )

      clause(
        'ENF-230',
        'A row policy of a masked table runs through the twin with no right that the owner of the table lacks: …',
        async () => {
          await mask()
          assert.deepEqual((await mask()).steps, [])
          await readAs('mallory', 'alter table lair.person enable row level security')
          const [server] = await run(`select current_setting('server_version_num')::int as version`)
          const option = server?.version >= 150000 ? 'with (security_invoker)' : ''
          await readAs(
            'mallory',
            `create view lair.eye as select mail from app.people; create view lair.lens ${option} as select mail from app.people;
            grant select on lair.eye, lair.lens to public`,
          )
          for (const table of ['app.people', 'app.staff', 'lair.eye', 'lair.lens']) {
            await readAs('mallory', `create policy p on lair.person using (${spyOn(table)})`)
            for (const name of ['mallory', 'analyst']) {
              const seen = await look(name, 'masked_lair.person')
              assert.match(seen, refused, `${table} by ${name}`)
            }
            await readAs('mallory', 'drop policy p on lair.person')
          }
          await readAs('mallory', 'drop view lair.eye, lair.lens')
          // A condition that becomes part of the twin.
          await readAs(
            'mallory',
            `create policy p on lair.person using (true);
            create policy q on lair.person as restrictive to "${analyst}" using (${spyOn('app.people')})`,
          )
          await mask()
          assert.match(await look('analyst', 'masked_lair.person'), refusedOrGone)
          // Policies that read masked tables of the same owner work.
          await readAs(
            'mallory',
            `create table lair.allowed as select 1 as id, 2 as mail; drop policy q on lair.person; drop policy p on lair.person;
            create policy p on lair.person using (id in (select id from lair.allowed))`,
          )
          await mask([rule('lair.allowed.mail')])
          assert.equal((await readAs('analyst', 'select mail from masked_lair.person'))[0]?.mail, 'XXXX')
          await unmask()
          await readAs(
            'mallory',
            'drop policy p on lair.person; drop table lair.allowed; alter table lair.person disable row level security',
          )
          assert.deepEqual(await listTwinRoles(), [])
        },
      )

      clause(
        'ENF-230',
        'A row policy of a masked table runs through the twin with no right that the owner of the table lacks: …',
        async () => {
          await readAs(
            'mallory',
            `create table lair.part (id int, mail text) partition by list (id);
            create table lair.part_1 partition of lair.part for values in (1); insert into lair.part values (1, 'x@lair.example');
            grant select on lair.part, lair.part_1 to "${analyst}";
            create view lair.v as select id, mail from lair.person; create materialized view lair.m as select id, mail from lair.person;
            grant select on lair.v, lair.m to "${analyst}"; alter table lair.part enable row level security;
            alter table lair.part_1 enable row level security; create policy p on lair.part using (${spyOn('app.people')});
            create policy p on lair.part_1 using (${spyOn('app.people')})`,
          )
          await run(`create table app.child () inherits (app.people); alter table app.child owner to "${mallory}";
            insert into app.child values (2, '${canary}2')`)
          await readAs(
            'mallory',
            `alter table app.child enable row level security; create policy p on app.child using (${spyOn('app.staff')})`,
          )
          await mask([rule('lair.part.mail'), rule('lair.v.id')])
          for (const twin of ['masked_lair.part', 'masked_lair.part_1', 'masked_app.child'])
            for (const name of ['analyst', 'mallory'])
              assert.match(await look(name, twin), refusedOrGone, `${twin} by ${name}`)
          for (const twin of ['masked_lair.v', 'masked_lair.m'])
            assert.match(await look('analyst', twin), /XXXX/, twin)
          assert.equal((await readAs('analyst', 'select mail from masked_app.people')).length, 2)
          const rows = await run(`select r.rolname, array_agg(distinct c.relowner::regrole::text) as owners
            from pg_roles r join pg_class c on true, aclexplode(c.relacl) a
            where a.grantee = r.oid and r.rolname like 'masquerade\\_twins\\_%' and a.privilege_type = 'SELECT'
              and not exists (select from pg_namespace n where n.oid = c.relnamespace and starts_with(n.nspname, 'masked_'))
            group by 1`)
          assert.deepEqual(
            rows.filter(({ owners }) => owners.length > 1).map(({ ...row }) => row),
            [],
          )
          await unmask()
          await run('drop table lair.part, app.child; drop view lair.v; drop materialized view lair.m')
          assert.deepEqual(await listTwinRoles(), [])
        },
      )

      clause(
        'ENF-230',
        'A row policy of a masked table runs through the twin with no right that the owner of the table lacks: …',
        async () => {
          await mask()
          await run(`create extension postgres_fdw; create server far foreign data wrapper postgres_fdw options (host '127.0.0.1', port '1');
          grant usage on foreign server far to "${mallory}"; create user mapping for "${await ownerOf('masked_app.people')}" server far;
          create user mapping for "${await ownerOf('masked_app.staff')}" server far`)
          await readAs(
            'mallory',
            `create foreign table lair.far (id int, mail text) server far; grant select on lair.far to "${analyst}"`,
          )
          await mask([rule('lair.far.mail')])
          assert.match(await look('analyst', 'masked_lair.far'), /user mapping not found/)
          await unmask()
          await run('drop extension postgres_fdw cascade')
        },
      )

      clause(
        'ENF-47',
        'A role gains no privileges by creating, ahead of the controller, a schema or a role of the names that the controller uses, …',
        async () => {
          const database = target.url.replace(/^.*\//, '')
          const [row] = await run(`select oid::int8 as oid from pg_roles where rolname = '${owner}'`)
          const name = `masquerade_twins_${row?.oid}_${database}`
          await run(`create role "${name}" login; grant "${name}" to "${mallory}" with admin option`)
          await mask()
          const spy = `set role "${name}"; select mail from app.people`
          await assert.rejects(readAs('mallory', spy), /permission denied/)
          assert.equal((await readAs('analyst', 'select mail from masked_app.people'))[0]?.mail, 'XXXX')
          // A member that comes later is removed; where the binding may not, the twin goes to another role.
          const used = (await ownerOf('masked_app.people')).replaceAll('"', '')
          await run(`grant "${used}" to "${mallory}"; alter role "${used}" login`)
          assert.deepEqual(
            (await mask()).notes.filter(({ code }) => code !== 'NameTaken'),
            [],
          )
          await assert.rejects(readAs('mallory', spy.replace(name, used)), /permission denied|22023/)
          const now = (await ownerOf('masked_app.people')).replaceAll('"', '')
          const [role] = await run(`select rolcanlogin from pg_roles where rolname = '${now}'`)
          assert.equal(role?.rolcanlogin, false)
          await unmask()
          await run(`drop role if exists "${name}"`)
          assert.deepEqual(await listTwinRoles(), [])
        },
      )

      clause(
        'ENF-231',
        'When a masked table gets another owner, its twin goes to the role of that owner in the next turn, with the grants on it and the views of others that read it, and so do twins of an earlier release, …',
        async () => {
          await mask()
          await run(
            `create view app.over as select mail from masked_app.people; grant select on app.over to "${analyst}"`,
          )
          const before = await ownerOf('masked_app.people')
          await run(`alter table app.people owner to "${mallory}"; grant select on app.people to "${owner}"`)
          const { notes } = await mask()
          assert.deepEqual(notes, [])
          assert.deepEqual((await mask()).steps, [])
          assert.equal(await ownerOf('masked_app.people'), await ownerOf('masked_lair.person'))
          assert.ok(!(await listTwinRoles()).includes(before.replaceAll('"', '')), before)
          for (const relation of ['masked_app.people', 'app.over'])
            assert.equal((await readAs('analyst', `select mail from ${relation}`))[0]?.mail, 'XXXX', relation)
          await run(`alter table app.people owner to "${owner}"; grant select on app.people to "${mallory}"`)
          await mask()
          assert.equal(await ownerOf('masked_app.people'), before)
          await run('drop view app.over')
          await unmask()
          assert.deepEqual(await listTwinRoles(), [])
        },
      )

      clause(
        'ENF-231',
        'When a masked table gets another owner, its twin goes to the role of that owner in the next turn, with the grants on it and the views of others that read it, and so do twins of an earlier release, …',
        async () => {
          await mask()
          const shared = `"masquerade_twins_${target.url.replace(/^.*\//, '')}"`
          const twins = ['masked_app.people', 'masked_lair.person']
          await run(`create view app.over as select mail from masked_app.people; grant select on app.over to "${analyst}";
          grant select on app.people, lair.person to ${shared}`)
          for (const twin of twins) {
            const own = await ownerOf(twin)
            const table = twin.replace('masked_', '')
            await run(
              `alter view ${twin} owner to ${shared}; revoke all on ${table} from ${own}; drop owned by ${own}; drop role ${own}`,
            )
          }
          const { notes } = await mask()
          assert.deepEqual(notes, [])
          assert.deepEqual((await mask()).steps, [])
          for (const twin of twins) {
            assert.notEqual(await ownerOf(twin), shared.replaceAll('"', ''))
            assert.equal((await readAs('analyst', `select mail from ${twin}`))[0]?.mail, 'XXXX', twin)
          }
          const [held] = await run(
            `select has_table_privilege(${shared.replaceAll('"', "'")}, 'app.people', 'select') as reads`,
          )
          assert.equal(held?.reads, false)
          assert.equal((await readAs('analyst', 'select mail from app.over'))[0]?.mail, 'XXXX')
          await run('drop view app.over')
          await unmask()
          assert.deepEqual(await listTwinRoles(), [])
        },
      )
    })

  describe('owners of twins, with a binding that cannot create roles', () => {
    let target: Awaited<ReturnType<typeof createMaskedDatabase>>
    let [analyst, first, second, binder, twins]: string[] = []
    const run = (text: string) => target.database.sql.unsafe(text)
    const readMail = async (relation: string) =>
      (await target.runAs('analyst', `select mail from ${relation}`))[0]?.mail
    before(async () => {
      target = await createMaskedDatabase(cluster)
      analyst = await target.createRole('analyst')
      first = await target.createRole('first', 'NOLOGIN')
      second = await target.createRole('second', 'NOLOGIN')
      binder = await target.createRole('binder')
      const database = target.url.replace(/^.*\//, '')
      twins = `masquerade_twins_${database}`
      await run(`create schema app; grant usage on schema app to public; create table app.a (id int, mail text);
        create table app.b (id int, mail text); create table app.own (id int, mail text);
        insert into app.a values (1, '${canary}'); insert into app.b values (1, '${canary}'); insert into app.own values (1, '${canary}');
        alter table app.a owner to "${first}"; alter table app.b owner to "${second}"; alter table app.own owner to "${binder}";
        grant select on app.a, app.b, app.own to "${analyst}"; grant "${first}", "${second}" to "${binder}";
        grant create on database "${database}" to "${binder}"; create role "${twins}"; grant "${twins}" to "${binder}"`)
    })
    after(() => target[Symbol.asyncDispose]())

    clause(
      'ENF-232',
      'Where the role of the binding cannot create roles, the role that was prepared for the twins serves one owner of tables. …',
      async () => {
        const session = target.connectAs('binder')
        const mask = (...names: string[]) =>
          reconcile(session, policy(names.map((name) => rule(`app.${name}.mail`))))
        const focus = (table: string, ...names: string[]) =>
          reconcile(session, policy(names.map((name) => rule(`app.${name}.mail`))), {
            focus: () => [{ schema: 'app', table }],
          })
        assert.deepEqual((await mask('a')).notes, [])
        // Whatever a turn looks at: the role reads tables of the first owner alone.
        for (const turn of [() => focus('b', 'a', 'b'), () => mask('a', 'b'), () => focus('a', 'a', 'b')]) {
          await turn()
          assert.equal(await readMail('masked_app.a'), 'XXXX')
          await assert.rejects(readMail('masked_app.b'), /does not exist/)
          await assert.rejects(readMail('app.b'), /permission denied/)
        }
        const { notes } = await mask('a', 'b', 'own')
        assert.deepEqual(
          notes.map(({ code, target }) => [code, target]),
          [
            ['NoTwin', 'app.b'],
            ['NoTwin', 'app.own'],
          ],
        )
        const { warnings } = await examine(
          session.sql,
          ['a', 'b', 'own'].map((table) => ({ schema: 'app', table })),
        )
        const statements = warnings
          .filter(({ code }) => code === 'NoTwinOwner')
          .flatMap((one) => one.statements)
        const told = notes.map(({ message }) => message.replace(/^.* Run: /, '').replace(/\.$/, ''))
        assert.deepEqual(told.join('; ').split('; ').sort(), statements.toSorted())
        for (const statement of told) await run(statement)
        assert.deepEqual((await mask('a', 'b', 'own')).notes, [])
        assert.deepEqual((await mask('a', 'b', 'own')).steps, [])
        for (const name of ['a', 'b', 'own']) assert.equal(await readMail(`masked_app.${name}`), 'XXXX')
        await mask()
        for (const name of ['a', 'b', 'own']) assert.equal(await readMail(`app.${name}`), canary)
      },
    )
  })
})
