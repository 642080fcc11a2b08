import assert from 'node:assert/strict'
import { before, describe } from 'node:test'
import { findLoginGrants } from '../../../src/enforcement/logins/find-login-grants.ts'
import { clause } from '../../support/clause.ts'
import { type LoginSession, useLoginRoles } from '../../support/login-roles.ts'
import { policyUrl } from '../../support/masking.ts'
import { forEachCluster } from '../../support/postgres.ts'
import { waitUntil } from '../../support/wait-until.ts'

const statementsOf = (note: { readonly message: string } | undefined) =>
  /run: (.*)$/.exec(note?.message ?? '')?.[1] ?? assert.fail('no note has the statements')

forEachCluster((cluster) => {
  for (const isSuperuser of [true, false])
    describe(`grantors of login roles, bound ${isSuperuser ? 'with' : 'without'} a superuser`, () => {
      const logins = useLoginRoles(cluster, isSuperuser, ['readers', 'keepers', 'givers'])
      const { masking, controller, run, settle, map, connect } = logins
      let [readers, keepers, givers, owner] = ['', '', '', '']
      const notesAbout = async (role: string) =>
        (await controller().report(logins.databaseId())).notes.filter((note) => note.target === role)
      const isDenied = { code: '42501' }
      const comeAs = async (...roles: string[]): Promise<LoginSession> => {
        const id = await logins.directory().user()
        for (const role of roles) await map(id, role)
        return await connect(id)
      }

      before(async () => {
        const { role } = logins.target()
        ;[readers, keepers, givers, owner] = [role('readers'), role('keepers'), role('givers'), role('owner')]
        await run(`create table public.ledger (id int, body text, sum int, "odd ""name" int, gone int);
          insert into public.ledger values (1, 'of the owner', 7, 8, 9); create table public.stock (id int);
          alter table public.ledger owner to "${owner}"; alter table public.stock owner to "${owner}";
          grant select (body, "odd ""name", gone), update (sum) on public.ledger to "${keepers}" with grant option;
          grant select on public.stock to "${keepers}" with grant option;
          grant select, insert, update, delete on public.stock to "${givers}" with grant option`)
        await run(`grant "${givers}" to "${keepers}"`)
      })

      clause(
        'GATE-315',
        'The controller revokes exactly the privileges, on exactly the columns, that a grantor…',
        async () => {
          const noor = await logins.directory().user()
          await map(noor, readers)
          const mapping = await map(noor, keepers)
          const session = await connect(noor)
          // Columns alone; and less than `keepers` could grant as a member of `givers`.
          await session.run(`set role "${keepers}";
          grant select (body, "odd ""name", gone), update (sum) on public.ledger to "${session.role}" with grant option;
          grant select on public.stock to "${session.role}"; reset role`)
          await run('alter table public.ledger drop column gone')
          const deleted = await masking.send('DELETE', mapping)
          assert.equal(deleted.status, 200, deleted.text)
          await settle()
          const again = await connect(noor)
          for (const text of [
            'select body from public.ledger',
            'select "odd ""name" from public.ledger',
            'update public.ledger set sum = 0',
            'table public.stock',
          ])
            await assert.rejects(again.run(text), isDenied, text)
          assert.deepEqual(await notesAbout(session.role), [])
          assert.equal(await controller().follow(logins.databaseId()), false, 'nothing is left to revoke')
          const [kept] =
            await run(`select has_column_privilege('${keepers}', 'public.ledger', 'body', 'select with grant option') as body,
          has_table_privilege('${keepers}', 'public.stock', 'select with grant option') as stock`)
          assert.deepEqual(kept, { body: true, stock: true })
        },
      )

      clause(
        'GATE-316',
        'A REVOKE that leaves the privilege in place does not count, and a turn tries it once…',
        async () => {
          const { role, run: query } = await comeAs(readers)
          // As a superuser the grantor revokes what the owner granted, and not what it granted itself.
          const risen = await logins.target().createRole('risen', '')
          await run(`create table public.raised (id int, body text); create table public.usual (id int);
          alter table public.raised owner to "${owner}"; alter table public.usual owner to "${owner}";
          grant select (id, body) on public.raised to "${risen}" with grant option`)
          await run(`set role "${risen}"; grant select (id, body) on public.raised to "${role}"; reset role;
          alter role "${risen}" superuser; grant select on public.usual to "${role}"`)
          await settle()
          await assert.rejects(query('table public.usual'), isDenied, 'the rest is revoked')
          assert.deepEqual(await query('select body from public.raised'), [])
          assert.equal(await controller().follow(logins.databaseId()), false, 'nothing has changed')
          const [note] = await notesAbout(role)
          const statements = statementsOf(note)
          assert.match(statements, /REVOKE SELECT \(body\), SELECT \(id\) ON TABLE public\.raised FROM /)
          await run(statements)
          await assert.rejects(query('select body from public.raised'), isDenied)
          await settle()
          assert.deepEqual(await notesAbout(role), [])
          const [grantor] =
            await run(`select rolsuper, has_column_privilege(oid, 'public.raised', 'body', 'select') as reads
          from pg_roles where rolname = '${risen}'`)
          assert.deepEqual(grantor, { rolsuper: true, reads: true }, 'the grantor has what it had')
        },
      )

      clause(
        'GATE-305',
        'Where the role of the binding can act for no grantor of such a privilege, the `notes` have…',
        async () => {
          const { role, run: query } = await comeAs(readers)
          const far = await logins.target().createRole('far', '')
          await run(`create table public.foreign (id int, body text);
            grant select (body) on public.foreign to "${far}" with grant option`)
          await run(`set role "${far}"; grant select (body) on public.foreign to "${role}"; reset role`)
          await settle()
          const [note] = await notesAbout(role)
          // Before PostgreSQL 16 every role with CREATEROLE can act for it.
          if (note) {
            assert.ok(!isSuperuser, note.message)
            assert.deepEqual(await query('select body from public.foreign'), [])
            await run(statementsOf(note))
          }
          await assert.rejects(query('select body from public.foreign'), isDenied)
        },
      )

      clause(
        'GATE-304',
        'The controller revokes privileges that were granted to a login role itself, and default…',
        async () => {
          const id = await logins.directory().user()
          await map(id, readers)
          const { role } = await connect(id)
          assert.equal(await logins.exempt(id), 'Enforced')
          const [server] = await run(`select current_setting('server_version_num')::int as version,
            (select oid::int8 from pg_roles where rolname = '${role}') as oid`)
          const bound = (await controller().connect(logins.databaseId())) ?? assert.fail('it is not bound')
          // Grants by which masks exempt the role take no place in the list.
          const found = await bound.transaction(async (tx) => {
            await tx.unsafe(`grant select on public.stock to "${role}"`)
            const list = await findLoginGrants(tx, [server?.oid], server?.version, { most: 1 })
            await tx.unsafe(`revoke select on public.stock from "${role}"`)
            return list
          })
          assert.deepEqual(
            found.map(({ on, privileges }) => [on, privileges]),
            [['TABLE public.stock', ['SELECT']]],
          )
          await logins.exempt()
        },
      )

      clause(
        'GATE-317',
        'A turn that revokes privileges of login roles counts the drift that it repairs, as one…',
        async () => {
          const { role, run: query } = await comeAs(readers)
          await settle()
          if (!isSuperuser) {
            // No event trigger has the change audited meanwhile.
            await run(`grant select on public.stock to "${role}"`)
            assert.equal(await controller().follow(logins.databaseId()), false, 'no turn follows')
            await assert.rejects(query('table public.stock'), isDenied)
            return
          }
          const read = async () => (await controller().report(logins.databaseId())).driftRepairs
          const repairs = await read()
          await logins.target().database.transaction(async (tx) => {
            await tx.unsafe(`drop view masked_public.person; grant select on public.stock to "${role}"`)
          })
          await waitUntil('the drift is repaired', async () => {
            const [row] = await run(`select to_regclass('masked_public.person') is not null as "isBack"`)
            return row?.isBack
          })
          await waitUntil('the drift is counted', async () => (await read()) > repairs)
          // The turn that counts it may have looked before the grant was there.
          await waitUntil('the grant is gone', () =>
            query('table public.stock').then(
              () => false,
              (error: { code?: string }) => error.code === isDenied.code,
            ),
          )
        },
      )

      clause(
        'GATE-318',
        'A suspended table counts as masked for GATE-306: its owner sees raw values with or without a twin.',
        async () => {
          const id = await logins.directory().user()
          await map(id, readers)
          const { role } = await connect(id)
          const place = { schemaName: 'public', tableName: 'mine' }
          await run(
            `create table public.mine (id int, iban text); alter table public.mine owner to "${role}"`,
          )
          await masking.putRule(logins.db, 'mine', {
            ...place,
            columnName: 'iban',
            maskingFunction: 'Default',
          })
          for (const verb of ['suspend', 'resume']) {
            const answer = await masking.send('POST', `${policyUrl(logins.db)}/${verb}`, place)
            assert.equal(answer.status, 204, answer.text)
            assert.deepEqual(await logins.prepare(id), { kind: 'ownsMasked', role }, verb)
          }
          await run('drop table public.mine cascade')
          await settle()
        },
      )

      clause(
        'GATE-320',
        'SET and ALTER SYSTEM on settings (PostgreSQL 15) that were granted to a login role are revoked like…',
        async (t) => {
          const [server] = await run(`select current_setting('server_version_num')::int as version`)
          if (server?.version < 150000) return
          const { role, run: query } = await comeAs(readers, keepers)
          const [plain, own] = ['log_min_messages', 'lists."of"']
          t.after(() => run(`revoke all on parameter ${plain}, ${own} from "${keepers}" cascade`))
          await run(`grant set on parameter ${plain}, ${own} to "${keepers}" with grant option`)
          await query(
            `set role "${keepers}"; grant set on parameter ${plain}, ${own} to "${role}"; reset role`,
          )
          await settle()
          const [left] = await run(`select has_parameter_privilege(r.oid, '${plain}', 'set') as inherited,
            (select count(*)::int from pg_parameter_acl p, aclexplode(p.paracl) a where a.grantee = r.oid) as own
            from pg_roles r where r.rolname = '${role}'`)
          assert.deepEqual(left, { inherited: true, own: 0 })
        },
      )
    })
})
