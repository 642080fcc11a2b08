import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { before, describe, test } from 'node:test'
import { openDatabase } from '../../../src/db/database.ts'
import { clause } from '../../support/clause.ts'
import { fillDirectory, type TestDirectory } from '../../support/directory.ts'
import { type LoginSession, rawEmail as raw, useLoginRoles } from '../../support/login-roles.ts'
import { forEachCluster } from '../../support/postgres.ts'
import { retryUntil, waitUntil } from '../../support/wait-until.ts'

const masked = 'aXXX@XXXX.com'

forEachCluster((cluster) => {
  for (const isSuperuser of [true, false])
    describe(`who gets what in a database that is bound ${isSuperuser ? 'with' : 'without'} a superuser`, () => {
      const logins = useLoginRoles(cluster, isSuperuser, ['readers', 'auditors'])
      const { masking, db, controller, run, settle, prepare, map, connect } = logins
      let directory: TestDirectory
      let [readers, auditors] = ['', '']
      const store = () => masking.service().database.sql
      const exempt = async (...entries: string[]) => assert.equal(await logins.exempt(...entries), 'Enforced')
      const leave = async (group: string, member: string) => {
        await store()`delete from member_edge where container_id = ${group} and member_id = ${member}`
        await settle()
      }
      const reads = async (session: Pick<LoginSession, 'run'>, from: string): Promise<string> =>
        session.run(`select email from ${from} where id = 1`).then(
          ([row]) => String(row?.email),
          (error: Error) => error.message.replace(/ for .*/, ''),
        )
      /** A server process that was told to end is listed until it has. */
      const waitUntilGone = ({ isOpen }: LoginSession, what: string) =>
        waitUntil(what, async () => !(await isOpen()))

      before(() => {
        directory = logins.directory()
        ;[readers, auditors] = [logins.target().role('readers'), logins.target().role('auditors')]
      })

      clause(
        'GATE-09',
        'A login role is masked like every other role. It is exempt when the policy lists the…',
        async () => {
          const [inner, outer] = [await directory.group(), await directory.group()]
          const ana = await directory.user()
          await directory.join(ana, inner)
          // Groups may go in a circle.
          await directory.join(inner, outer)
          await directory.join(outer, inner)
          await map(outer, readers)
          await exempt()
          const session = await connect(ana)
          assert.equal(await reads(session, 'masked_public.person'), masked)
          assert.equal(await reads(session, 'public.person'), 'permission denied')

          for (const entry of [ana, outer]) {
            await exempt(entry)
            const exempted = await connect(ana)
            assert.equal(await reads(exempted, 'public.person'), raw)
            await exempt()
            await waitUntilGone(exempted, 'the session ends with the exemption')
            assert.equal(await reads(await connect(ana), 'public.person'), 'permission denied')
          }

          // Through a role that is exempt and has no privilege of its own.
          await exempt(auditors)
          const path = await map(ana, auditors)
          const exempted = await connect(ana)
          assert.equal(await reads(exempted, 'public.person'), raw)
          assert.equal((await masking.send('DELETE', path)).status, 200)
          await waitUntilGone(exempted, 'the session ends with the membership')
          assert.equal(await reads(await connect(ana), 'public.person'), 'permission denied')
          await exempt()
        },
      )

      test('a person is exempt from the first login on', async () => {
        const ana = await directory.user()
        const path = await map(ana, readers)
        await exempt(ana)
        assert.equal(await reads(await connect(ana), 'public.person'), raw)
        const report = await controller().plan(logins.databaseId())
        assert.deepEqual(report, [], 'the dry run knows the login role')
        await masking.send('DELETE', path)
        await exempt()
        assert.deepEqual(await controller().plan(logins.databaseId()), [])
      })

      clause(
        'GATE-04',
        'A signed comment marks a login role. The controller never touches a role of that name…',
        async () => {
          const name = `squatted-${randomUUID().slice(0, 8)}`
          const ana = await directory.user(name)
          await map(ana, readers)
          const role = `${name}@example.com/${new URL(logins.target().url).pathname.slice(1)}`
          await run(`create role "${role}" login password 'secret' in role "${readers}";
          comment on role "${role}" is 'masquerade login ${logins.databaseId()} ${ana}'`)
          try {
            await exempt(ana)
            const { sql } = logins.open(role, 'secret')
            const squatter = { run: (text: string) => sql.unsafe(text) }
            assert.equal(await reads(squatter, 'public.person'), 'permission denied')
            assert.deepEqual(await prepare(ana), { kind: 'nameTaken', role })
          } finally {
            await exempt()
            await run(`drop role "${role}"`)
          }
        },
      )

      clause(
        'GATE-03',
        'The controller creates a login role at the first login of a user or service principal to…',
        async () => {
          const group = await directory.group()
          await map(group, readers)
          const [ana, bob, cy] = [
            await directory.user(),
            await directory.user(),
            await directory.servicePrincipal(),
          ]
          for (const each of [ana, bob, cy]) {
            assert.deepEqual(await prepare(each), { kind: 'noRole' })
            await directory.join(each, group)
            assert.equal((await prepare(each)).kind, 'ready')
          }
          // A group, and whoever is of another tenant, disabled or deleted, cannot log in.
          const elsewhere = await fillDirectory({ ...masking.service(), tenantId: randomUUID() }).user()
          await store()`insert into role_mapping (database_id, key, name, database_role, principal_id)
            values (${logins.databaseId()}, 'elsewhere', 'elsewhere', ${readers}, ${elsewhere})`
          assert.deepEqual(await prepare(group), { kind: 'noRole' })
          assert.deepEqual(await prepare(elsewhere), { kind: 'noRole' })
          const session = await connect(ana)
          await store()`
          update directory_object set properties = properties || '{"accountEnabled": false}' where id = ${ana}`
          assert.deepEqual(await prepare(ana), { kind: 'noRole' })
          await settle()
          await waitUntilGone(session, 'the session ends with the group')
          await directory.softDelete(bob)
          assert.deepEqual(await prepare(bob), { kind: 'noRole' })
          const app = await connect(cy)
          await directory.softDelete(cy)
          await settle()
          await waitUntilGone(app, 'the session ends with the application')
        },
      )

      clause(
        'GATE-06',
        'A principal that loses a mapping, the mapped group or the account loses the database role…',
        async () => {
          const [inner, outer] = [await directory.group(), await directory.group()]
          const [ana, bob] = [await directory.user(), await directory.user()]
          await directory.join(inner, outer)
          for (const each of [ana, bob]) await directory.join(each, inner)
          await map(outer, readers)
          const [one, two] = [await connect(ana), await connect(bob)]
          await leave(inner, ana)
          await waitUntilGone(one, 'the session ends with the membership')
          assert.ok(await two.isOpen())
          // A deleted group maps nobody.
          await directory.softDelete(outer)
          await settle()
          await waitUntilGone(two, 'the session ends with the group')
          for (const each of [ana, bob]) assert.deepEqual(await prepare(each), { kind: 'noRole' })
        },
      )

      test('a database that gets another name takes its login roles along', async () => {
        const ana = await directory.user(`m${randomUUID().slice(0, 8)}`)
        await map(ana, readers)
        const first = await prepare(ana)
        const url = new URL(logins.target().url)
        const old = url.pathname.slice(1)
        const admin = openDatabase({ url: logins.target().url.replace(/[^/]*$/, 'postgres'), poolSize: 1 })
        const rename = async (from: string, to: string) => {
          await settle()
          await retryUntil(async () => {
            await admin.sql`select pg_terminate_backend(pid) from pg_stat_activity where datname = ${from}`
            await admin.sql.unsafe(`alter database "${from}" rename to "${to}"`)
          })
          url.pathname = `/${to}`
          const put = await logins.bind(url.href)
          assert.equal(put.status, 200, put.text)
        }
        await rename(old, `${old}_new`)
        const second = await prepare(ana)
        await rename(`${old}_new`, old)
        await admin.close()
        assert.ok(first.kind === 'ready' && second.kind === 'ready', JSON.stringify([first, second]))
        assert.equal(second.login.role, `${first.login.role}_new`)
        assert.equal((await prepare(ana)).kind, 'ready')
      })

      test('with the last mapping the login roles are gone', async () => {
        const { value } = (await masking.send('GET', `${db}/roleMappings`)).body
        for (const { name } of value) await masking.send('DELETE', `${db}/roleMappings/${name}`)
        assert.deepEqual(
          await run(
            `select rolname from pg_roles where shobj_description(oid, 'pg_authid') like '%${logins.databaseId()}%'`,
          ),
          [],
        )
      })
    })
})
