import assert from 'node:assert/strict'
import { before, describe } from 'node:test'
import { clause } from '../../support/clause.ts'
import { useLoginRoles } from '../../support/login-roles.ts'
import { policyUrl } from '../../support/masking.ts'
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
        'Privileges that a login role was granted itself, in its database, are in the `notes` with the objects…',
        async () => {
          const noor = await logins.directory().user()
          await map(noor, readers)
          await map(noor, keepers)
          const session = await connect(noor)
          const { role } = session
          await session.run(`set role "${keepers}"; create table public.notes (id int, body text); create schema room;
            grant select (body) on public.notes to "${role}"; grant usage on schema room to "${role}";
            alter default privileges for role "${keepers}" grant select on tables to "${role}"; reset role;
            create table public.own (id int); create temporary table passing (id int)`)
          await settle()
          const [note, ...more] = await notesAbout(role)
          assert.deepEqual([note?.code, more], ['LoginRole', []])
          assert.match(
            note?.message ?? '',
            /was granted privileges itself.*: on default acl for role .*, schema room, table column public\.notes\.body\. Run REVOKE/,
          )
          assert.equal(await session.isOpen(), true)
          assert.equal((await prepare(noor)).kind, 'ready')
          await session.run(`set role "${keepers}"; drop table public.notes; drop schema room;
            alter default privileges for role "${keepers}" revoke select on tables from "${role}"; reset role`)
          await settle()
          assert.deepEqual(await notesAbout(role), [])

          // The controller itself grants to login roles that are exempt.
          await exempt(noor)
          await settle()
          assert.deepEqual(await notesAbout(role), [])
          assert.deepEqual(await controller().plan(logins.databaseId()), [])
          await exempt()
          await assert.rejects((await connect(noor)).run('select email from public.person'), isDenied)
        },
      )

      clause(
        'GATE-306',
        'A login role that owns a masked or suspended table, a part of one or a materialized view over one is closed…',
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

          for (const verb of ['suspend', 'resume']) {
            const place = { schemaName: 'public', tableName: 'pay' }
            const answer = await masking.send('POST', `${policyUrl(logins.db)}/${verb}`, place)
            assert.equal(answer.status, 204, answer.text)
            assert.deepEqual(await prepare(noor), { kind: 'ownsMasked', role }, verb)
          }

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
