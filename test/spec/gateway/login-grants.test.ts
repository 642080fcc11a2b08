import assert from 'node:assert/strict'
import { before, describe } from 'node:test'
import { clause } from '../../support/clause.ts'
import { useLoginRoles } from '../../support/login-roles.ts'
import { forEachCluster } from '../../support/postgres.ts'
import { waitUntil } from '../../support/wait-until.ts'

forEachCluster((cluster) => {
  for (const isSuperuser of [true, false])
    describe(`privileges and objects of login roles, bound ${isSuperuser ? 'with' : 'without'} a superuser`, () => {
      const logins = useLoginRoles(cluster, isSuperuser, ['readers', 'keepers'])
      const { masking, controller, run, settle, prepare, map, exempt, connect } = logins
      let [keepers, readers, owner] = ['', '', '']
      const unmap = async (path: string) => {
        const deleted = await masking.send('DELETE', path)
        assert.equal(deleted.status, 200, deleted.text)
      }
      const mask = (table: string, column: string) =>
        masking.putRule(logins.db, `${table}-${column}`, {
          schemaName: 'public',
          tableName: table,
          columnName: column,
          maskingFunction: 'Default',
        })
      const notesAbout = async (role: string) =>
        (await controller().report(logins.databaseId())).notes.filter((note) => note.target === role)
      const isDenied = { code: '42501' }

      before(async () => {
        const { url, role } = logins.target()
        ;[keepers, readers, owner] = [role('keepers'), role('readers'), role('owner')]
        await run(`grant create on schema public to "${keepers}", "${readers}";
          grant create on database "${new URL(url).pathname.slice(1)}" to "${keepers}"`)
      })

      clause(
        'GATE-304',
        'The controller revokes privileges that were granted to a login role itself, and default…',
        async () => {
          const [noor, bob] = [await logins.directory().user(), await logins.directory().user()]
          await map(noor, readers)
          await map(bob, readers)
          const mapping = await map(noor, keepers)
          const colleague = await connect(bob)
          const session = await connect(noor)
          await session.run(`set role "${keepers}"; create table public.notes (id int, body text);
            insert into public.notes values (1, 'of the keepers');
            create sequence public.numbers; create schema room; create table room.inner (id int);
            create type public.mood as enum ('glad');
            create function public.secret() returns text language sql as 'select ''of the keepers''';
            revoke all on function public.secret() from public; revoke all on type public.mood from public;
            reset role`)
          await session.run(`grant all on public.notes, room.inner to current_user;
            grant select (body), update (body) on public.notes to current_user with grant option;
            grant all on sequence public.numbers to current_user; grant all on schema room to current_user;
            grant usage on type public.mood to current_user;
            grant execute on function public.secret() to current_user;
            alter default privileges for role "${keepers}" grant all on tables to "${session.role}";
            alter default privileges for role "${keepers}" in schema room grant all on tables to "${session.role}";
            create table public.own (id int); create temporary table passing (id int)`)
          // A colleague who gets something neither loses the session nor the login.
          await session.run(`grant select on public.notes to "${colleague.role}"`)
          await settle()
          assert.deepEqual(await colleague.run('select 1 as one'), [{ one: 1 }])
          await assert.rejects(colleague.run('table public.notes'), isDenied)

          await session.run(`grant all on public.notes to current_user`)
          await unmap(mapping)
          await run(`set role "${keepers}"; create table room.later (id int); reset role`)
          const again = await connect(noor)
          for (const text of [
            'select body from public.notes',
            `update public.notes set body = ''`,
            `select nextval('public.numbers')`,
            'table room.inner',
            'table room.later',
            'select public.secret()',
            'create table room.more (id int)',
            'create table public.moods (one public.mood)',
          ])
            await assert.rejects(again.run(text), isDenied, text)
          assert.deepEqual(await again.run('table public.own'), [])
          assert.deepEqual(await notesAbout(session.role), [])
          assert.deepEqual(
            await run(`select m.rolname from pg_auth_members a join pg_roles m on m.oid = a.member
              join pg_roles r on r.oid = a.roleid where r.rolname in ('${keepers}', '${session.role}')
                and not a.admin_option`),
            [],
            'the role of the binding is no member of a grantor afterwards',
          )

          // The controller itself grants to login roles that are exempt.
          await exempt(noor)
          await settle()
          await settle()
          const [row] = await (await connect(noor)).run('select email from public.person')
          assert.equal(row?.email, 'ann@example.com')
          assert.deepEqual(await controller().plan(logins.databaseId()), [])
          await exempt()
          await assert.rejects((await connect(noor)).run('select email from public.person'), isDenied)
        },
      )

      clause(
        'GATE-305',
        'Where the role of the binding can act for no grantor of such a privilege, the `notes` have…',
        async () => {
          const noor = await logins.directory().user()
          await map(noor, readers)
          const { role, run: query } = await connect(noor)
          const stranger = await logins.target().createRole('stranger', 'SUPERUSER')
          await run(`create table public.strange (id int); alter table public.strange owner to "${stranger}";
            grant select on public.strange to "${role}"`)
          await settle()
          const notes = await notesAbout(role)
          const statement = `SET ROLE "${stranger}"; REVOKE SELECT ON TABLE public.strange FROM "${role}" CASCADE; RESET ROLE;`
          if (isSuperuser) assert.deepEqual(notes, [])
          else {
            assert.deepEqual(
              notes.map(({ code, message }) => [code, message.includes(statement)]),
              [['LoginRole', true]],
            )
            assert.deepEqual(
              await query('table public.strange'),
              [],
              'another person cannot refuse the login',
            )
            assert.equal((await prepare(noor)).kind, 'ready')
            await run(statement)
          }
          await assert.rejects(query('table public.strange'), isDenied)
          await run('drop table public.strange')

          // A lock delays what it is on, and nothing else.
          for (const name of ['held', 'free'])
            await run(`create table public.${name} (id int); alter table public.${name} owner to "${keepers}";
              grant select on public.${name} to "${role}"`)
          await logins.target().database.transaction(async (tx) => {
            await tx.unsafe(`grant select on public.held to "${readers}"`)
            assert.equal((await settle()).state, 'Enforced')
            await assert.rejects(query('table public.free'), isDenied)
            assert.deepEqual(await query('table public.held'), [])
            await tx.unsafe(`revoke select on public.held from "${readers}"`)
          })
          await settle()
          await assert.rejects(query('table public.held'), isDenied)
        },
      )

      clause(
        'GATE-306',
        'A login role that owns a masked table, a part of one or a materialized view over one is…',
        async () => {
          const noor = await logins.directory().user()
          await map(noor, readers)
          const mapping = await map(noor, keepers)
          const session = await connect(noor)
          await session.run(`set role "${keepers}"; create table public.pay (id int, iban text);
            insert into public.pay values (1, 'DE75512108001245126199'); reset role;
            alter table public.pay owner to current_user; create table public.plain (id int)`)
          await unmap(mapping)
          const before = await connect(noor)
          const put = await mask('pay', 'iban')
          const { role } = session
          const report = await controller().report(logins.databaseId())
          assert.deepEqual(await prepare(noor), { kind: 'ownsMasked', role })
          await waitUntil('the session ends', async () => !(await before.isOpen()))
          const [note] = await notesAbout(role)
          assert.equal(note?.code, 'LoginRole')
          assert.match(note?.message ?? '', /owns masked tables: public\.pay.*REASSIGN OWNED BY/)
          if (!isSuperuser) assert.equal(report.state, 'Failed', put.text)
          // An exempt principal may see the values.
          await exempt(noor)
          assert.equal((await prepare(noor)).kind, 'ready')
          await exempt()
          assert.deepEqual(await prepare(noor), { kind: 'ownsMasked', role })

          await run(`alter table public.pay owner to "${owner}"`)
          await settle()
          const later = await connect(noor)
          await assert.rejects(later.run('select iban from public.pay'), isDenied)
          assert.deepEqual(await later.run('table public.plain'), [])
          assert.deepEqual(await notesAbout(role), [])
        },
      )

      clause(
        'GATE-307',
        'Where a login role owns a masked table that the role of the binding cannot mask, the reason…',
        async () => {
          const noor = await logins.directory().user()
          await map(noor, readers)
          const { role, run: query } = await connect(noor)
          await query('create table public.mine (id int, iban text)')
          await mask('mine', 'iban')
          const { state, reason, notes } = await controller().report(logins.databaseId())
          const texts = [reason ?? '', ...notes.map(({ message }) => message)].join('\n')
          assert.ok(!texts.includes(`GRANT "${role}"`), texts)
          if (!isSuperuser) {
            assert.equal(state, 'Failed')
            assert.match(reason ?? '', /ALTER TABLE "public"\."mine" OWNER TO /)
          }
          await run('drop table public.mine cascade')
          await settle()
        },
      )
    })
})
