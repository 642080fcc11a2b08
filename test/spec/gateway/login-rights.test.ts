import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, describe, test } from 'node:test'
import { type Database, openDatabase } from '../../../src/db/database.ts'
import { clause } from '../../support/clause.ts'
import { fillDirectory, type TestDirectory } from '../../support/directory.ts'
import { bindingOf, createMaskedDatabase } from '../../support/masked-database.ts'
import { emailRule, freshDatabase, useMasking } from '../../support/masking.ts'
import { forEachCluster } from '../../support/postgres.ts'
import { retryUntil, waitUntil } from '../../support/wait-until.ts'

type Target = Awaited<ReturnType<typeof createMaskedDatabase>>

const raw = 'ann@example.com'
const masked = 'aXXX@XXXX.com'

forEachCluster((cluster) => {
  for (const isSuperuser of [true, false])
    describe(`who gets what in a database that is bound ${isSuperuser ? 'with' : 'without'} a superuser`, () => {
      const masking = useMasking({ MASQUERADE_AUDIT_SECONDS: '3600' })
      const db = freshDatabase()
      const opened: Database[] = []
      let target: Target
      let directory: TestDirectory
      let databaseId = ''
      let [readers, auditors] = ['', '']
      const run = (text: string) => target.database.sql.unsafe(text)
      const store = () => masking.service().database.sql
      const settle = () => masking.service().enforcement.settle(databaseId)
      const prepare = (id: string) => masking.service().enforcement.prepareLogin(databaseId, id)
      const exempt = async (...entries: string[]) => {
        const policy = { dataMaskingState: 'Enabled', exemptPrincipals: entries.join(';') }
        const put = await masking.putPolicy(db, policy)
        assert.equal(put.headers.get('x-masquerade-enforcement'), 'Enforced', put.text)
      }
      const map = async (principalId: string, databaseRole: string): Promise<string> => {
        const path = `${db}/roleMappings/${randomUUID()}`
        const put = await masking.send('PUT', path, { properties: { principalId, databaseRole } })
        assert.equal(put.status, 201, put.text)
        return path
      }
      const leave = async (group: string, member: string) => {
        await store()`delete from member_edge where container_id = ${group} and member_id = ${member}`
        await settle()
      }
      const connect = async (id: string): Promise<Database> => {
        const outcome = await prepare(id)
        if (outcome.kind !== 'ready') assert.fail(JSON.stringify(outcome))
        const url = new URL(target.url)
        url.username = encodeURIComponent(outcome.login.role)
        url.password = outcome.login.password
        const session = openDatabase({ url: url.href, poolSize: 1, searchPath: 'public' })
        opened.push(session)
        const [own] = await session.sql`select pg_backend_pid() as pid`
        pids.set(session, own?.pid)
        return session
      }
      const reads = async (session: Database, from: string): Promise<string> =>
        session.sql.unsafe(`select email from ${from} where id = 1`).then(
          ([row]) => String(row?.email),
          (error: Error) => error.message.replace(/ for .*/, ''),
        )
      const pids = new Map<Database, number>()
      /** The connection that it was; a pool would open another one. */
      const isGone = async (session: Database): Promise<boolean> =>
        (await target.database.sql`select 1 from pg_stat_activity where pid = ${pids.get(session) ?? 0}`)
          .length === 0
      /** A server process that was told to end is listed until it has. */
      const waitUntilGone = (session: Database, what: string) => waitUntil(what, () => isGone(session))

      before(async () => {
        target = await createMaskedDatabase(cluster)
        directory = fillDirectory(masking.service())
        readers = await target.createRole('readers', '')
        auditors = await target.createRole('auditors', '')
        const owner = await target.createRole('owner', '')
        await run(`create table public.person (id int, email text); insert into public.person values (1, '${raw}');
          grant usage on schema public to public; grant select on public.person to "${readers}";
          alter table public.person owner to "${owner}"`)
        const binder = await target.createRole('binder', 'LOGIN CREATEROLE')
        await run(`grant "${owner}" to "${binder}";
          grant create on database "${target.url.replace(/^.*\//, '')}" to "${binder}"`)
        const [row] = await run(`select current_setting('server_version_num')::int as version`)
        if (row?.version >= 160000)
          await run(
            `grant "${readers}", "${auditors}" to "${binder}" with admin true, inherit false, set false`,
          )
        const credentials = isSuperuser ? {} : { user: binder, password: 'secret' }
        const bound = await masking.send('PUT', db, {
          properties: { binding: bindingOf(target.url, credentials) },
        })
        assert.equal(bound.status, 201, bound.text)
        assert.equal((await masking.putRule(db, 'mail', emailRule)).status, 201)
        const [found] = await store()<
          { id: string }[]
        >`select id from masked_database where binding is not null`
        databaseId = found?.id ?? ''
      })
      after(async () => {
        for (const session of opened) await session.close()
        await target[Symbol.asyncDispose]()
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
        const report = await masking.service().enforcement.plan(databaseId)
        assert.deepEqual(report, [], 'the dry run knows the login role')
        await masking.send('DELETE', path)
        await exempt()
        assert.deepEqual(await masking.service().enforcement.plan(databaseId), [])
      })

      clause(
        'GATE-04',
        'A signed comment marks a login role. The controller never touches a role of that name…',
        async () => {
          const name = `squatted-${randomUUID().slice(0, 8)}`
          const ana = await directory.user(name)
          await map(ana, readers)
          const role = `${name}@example.com/${target.url.replace(/^.*\//, '')}`
          await run(`create role "${role}" login password 'secret' in role "${readers}";
          comment on role "${role}" is 'masquerade login ${databaseId} ${ana}'`)
          try {
            await exempt(ana)
            const url = new URL(target.url)
            url.username = encodeURIComponent(role)
            url.password = 'secret'
            const squatter = openDatabase({ url: url.href, poolSize: 1, searchPath: 'public' })
            opened.push(squatter)
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
            values (${databaseId}, 'elsewhere', 'elsewhere', ${readers}, ${elsewhere})`
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
          assert.ok(!(await isGone(two)))
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
        const url = new URL(target.url)
        const old = url.pathname.slice(1)
        const admin = openDatabase({ url: target.url.replace(/[^/]*$/, 'postgres'), poolSize: 1 })
        const rename = async (from: string, to: string) => {
          await masking.service().enforcement.settle(databaseId)
          await retryUntil(async () => {
            await admin.sql`select pg_terminate_backend(pid) from pg_stat_activity where datname = ${from}`
            await admin.sql.unsafe(`alter database "${from}" rename to "${to}"`)
          })
          url.pathname = `/${to}`
          const credentials = isSuperuser ? {} : { user: target.role('binder'), password: 'secret' }
          const put = await masking.send('PUT', db, {
            properties: { binding: bindingOf(url.href, credentials) },
          })
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
            `select rolname from pg_roles where shobj_description(oid, 'pg_authid') like '%${databaseId}%'`,
          ),
          [],
        )
      })
    })
})
