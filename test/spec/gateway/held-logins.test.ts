import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { before, describe } from 'node:test'
import type pg from 'pg'
import { openDatabase } from '../../../src/db/database.ts'
import { setPassword } from '../../../src/directory/accounts/password.ts'
import { createBackendEnding } from '../../../src/logins/end-backends.ts'
import { clause } from '../../support/clause.ts'
import { useGateway } from '../../support/gateway.ts'
import { createTestLogins } from '../../support/logins.ts'
import { bindingOf, createMaskedDatabase } from '../../support/masked-database.ts'
import { bringPeople, endedBy } from '../../support/people.ts'
import { forEachCluster } from '../../support/postgres.ts'
import { issuedNow } from '../../support/tokens.ts'
import { retryUntil, waitUntil } from '../../support/wait-until.ts'

/** Several times the documented time: machines that run tests are busy. */
const patienceMs = 8_000

forEachCluster((cluster) => {
  clause(
    'GATE-243',
    'A login role that an open or prepared transaction is changing loses its roles, its members and its sessions all…',
    async () => {
      await using target = await createMaskedDatabase(cluster)
      const { sql } = target.database
      const readers = await target.createRole('readers', '')
      const binder = await target.createRole('binder', 'LOGIN CREATEROLE')
      await sql.unsafe(`create table public.person (email text); insert into public.person values ('raw');
        grant usage on schema public to public; grant select on public.person to "${readers}"`)
      const [server] = await sql`select current_setting('server_version_num')::int as version`
      if (server?.version >= 160000) await sql.unsafe(`grant "${readers}" to "${binder}" with admin true`)
      const directory = createTestLogins(target.connectAs('binder'))
      const ana = directory.add('ana@contoso.com', [readers])
      const [bob, cid] = ['bob', 'cid'].map((name) => directory.add(`${name}@contoso.com`, [readers]))
      for (const each of [bob, cid]) await directory.prepare(String(each))
      const outcome = await directory.prepare(ana)
      if (outcome.kind !== 'ready') assert.fail(outcome.kind)
      const { role, password } = outcome.login
      const connect = (secret: string) => {
        const url = new URL(target.url)
        url.username = encodeURIComponent(role)
        url.password = encodeURIComponent(secret)
        return openDatabase({ url: url.href, poolSize: 1, searchPath: 'public' })
      }
      const first = connect(password)
      await first.sql.unsafe(`alter role current_user password 'my own'`)
      await first.sql.unsafe(
        `begin; alter role current_user password 'held'; prepare transaction '${target.role('held')}'`,
      )
      const own = connect('my own')
      const [{ pid } = {}] = await own.sql`select pg_backend_pid() as pid, email from public.person`
      try {
        directory.remove(ana)
        await assert.rejects(directory.settle(), { code: '55P03' })
        const countRoles = async (name: string) =>
          (
            await sql`select 1 from pg_auth_members m join pg_roles r on r.oid = m.member where r.rolname = ${name}`
          ).length
        assert.equal(await countRoles(role), 0, 'the mapped role is revoked')
        await waitUntil('the session ends', async () => {
          return (await sql`select 1 from pg_stat_activity where pid = ${pid}`).length === 0
        })
        const again = connect('my own')
        await assert.rejects(again.sql`select email from public.person`, /permission denied/)
        await assert.rejects(directory.prepare(ana), { code: '55P03' }, 'no login through the gateway')
        await Promise.all([first.close(), own.close(), again.close()])
        // Its name is another person's now: it would have to be renamed first.
        directory.set(String(bob), { name: 'ana@contoso.com' })
        directory.remove(String(cid))
        await assert.rejects(directory.settle(), { code: '55P03' })
        assert.equal(await countRoles(role.replace('ana', 'cid')), 0, 'others lose what they lose')
      } finally {
        await sql.unsafe(`rollback prepared '${target.role('held')}'`)
      }
      await directory.settle()
      assert.equal((await directory.prepare(String(bob))).kind, 'ready')
      directory.clear()
      await directory.settle()
      const left =
        await sql`select rolname from pg_roles where rolname like ${`%${role.replace(/^.*[/]/, '/')}`}`
      assert.deepEqual([...left], [])
    },
  )
})

describe('sessions of people whose rights change', () => {
  // A superuser's binding rolls a transaction back after the limit.
  const gateway = useGateway({ MASQUERADE_LOCK_LIMIT_SECONDS: '3600' })
  let people: Awaited<ReturnType<typeof bringPeople>>
  before(async () => {
    people = await bringPeople(gateway)
  })
  const sql = () => gateway.masked().database.sql
  const service = () => gateway.masking.service()
  const person = async () => {
    const one = await people.user()
    await people.map(one.id)
    return one
  }
  const read = 'select email from public.customers where id = 1'
  const exempt = (...more: string[]) =>
    gateway.masking.putPolicy(gateway.db, {
      dataMaskingState: 'Enabled',
      exemptPrincipals: [gateway.masked().role('auditor'), ...more].join(';'),
    })

  clause(
    'GATE-244',
    'A principal whose exemption was withdrawn opens no session while the database may still honour it: 57P03. Other…',
    async () => {
      const [ana, bob] = [await person(), await person()]
      await exempt(ana.id)
      const client = await people.connect(ana.name, ana.token)
      assert.deepEqual((await client.query(read)).rows, [{ email: 'ann@example.com' }])
      const gid = gateway.masked().role('held')
      await client.query('begin')
      await client.query('drop owned by current_user')
      await client.query(`prepare transaction '${gid}'`)
      try {
        const put = await exempt()
        assert.equal(put.headers.get('x-masquerade-enforcement'), 'Pending', put.text)
        await assert.rejects(people.connect(ana.name, ana.token), { code: '57P03', message: /withdrawn/ })
        const other = await people.connect(bob.name, bob.token)
        assert.notDeepEqual((await other.query(read)).rows, [{ email: 'ann@example.com' }])
      } finally {
        await sql().unsafe(`rollback prepared '${gid}'`)
      }
      const masked = await retryUntil(
        () => people.connect(ana.name, ana.token),
        (error) => (error as { code?: string }).code === '57P03',
      )
      assert.notDeepEqual((await masked.query(read)).rows, [{ email: 'ann@example.com' }])
    },
  )

  clause(
    'GATE-245',
    'The backend of a session that ends by GATE-113 is terminated also where its role has another name by then.',
    async () => {
      const { database, tenantId } = service()
      const ana = await person()
      await database.transaction((tx) => setPassword(tx, tenantId, ana.id, `First-${randomUUID()}`))
      const { claimsFor, signToken } = service().tokens
      // In whole seconds it would outlive a password of the same second.
      const claims = claimsFor({ principal: ana.id, permissions: ['user_impersonation'] })
      const client = await people.connect(ana.name, signToken({ ...claims, ...issuedNow() }))
      const [{ pid } = {}] = (await client.query('select pg_backend_pid() as pid')).rows
      const busy = client
        .query(
          `do $$ begin loop begin perform pg_sleep(60); exception when query_canceled then null; end; end loop; end $$`,
        )
        .catch(() => {})
      const findBackend = () =>
        sql()`select usename::text as role from pg_stat_activity where pid = ${pid} and state = 'active'`
      await waitUntil('the block runs', async () => (await findBackend()).length > 0)
      const renamed = await service().request('PATCH', `/v1.0/users/${ana.id}`, {
        token: service().tokenFor({ permissions: ['User.ReadWrite.All', 'Directory.ReadWrite.All'] }),
        body: { userPrincipalName: `x${ana.name}` },
      })
      assert.equal(renamed.status, 204, renamed.text)
      const hasNewName = async () => (await findBackend())[0]?.role.startsWith(`x${ana.name}`)
      await waitUntil('the role has the new name', hasNewName)
      await endedBy(client, patienceMs, () =>
        database.transaction((tx) => setPassword(tx, tenantId, ana.id, `Second-${randomUUID()}`)),
      )
      await busy
      await waitUntil('the backend is gone', async () => (await findBackend()).length === 0)
    },
  )

  // The numbers that a former server told, at the server that is bound now.
  clause(
    'GATE-298',
    'GATE-113 terminates backends of login roles of the database alone: the server of a session says which role and process that…',
    async () => {
      const endBackends = createBackendEnding(service().enforcement)
      const [{ id } = {}] = await service().database.sql<{ id: string }[]>`
        select id from masked_database where key = ${gateway.db.toLowerCase()}`
      const about = async (client: pg.Client) =>
        (
          await client.query(
            'select pg_backend_pid() as pid, (select oid::int8::int from pg_roles where rolname = session_user) as oid',
          )
        ).rows[0]
      const auditor = await gateway.connect('auditor')
      const role = await about(auditor)
      await endBackends(String(id), role.oid, [role.pid])
      assert.deepEqual(await about(auditor), role)
      // The comment of a login role of another database.
      await sql().unsafe(
        `comment on role "${gateway.masked().role('auditor')}" is 'masquerade login ${randomUUID()} x x'`,
      )
      await endBackends(String(id), role.oid, [role.pid])
      await sql().unsafe(`comment on role "${gateway.masked().role('auditor')}" is null`)
      await endBackends(String(id), role.oid, [2 ** 32 - 1])
      await endBackends(String(id), 1e20, [role.pid])
      assert.deepEqual(await about(auditor), role)

      const ana = await person()
      const client = await people.connect(ana.name, ana.token)
      const own = await about(client)
      await endBackends(String(id), own.oid, [2 ** 32 - 1, own.pid])
      await waitUntil('the backend is gone', async () => {
        return (await sql()`select 1 from pg_stat_activity where pid = ${own.pid}`).length === 0
      })
    },
  )

  clause(
    'ENF-320',
    'The password of a login role is another one for each version of the binding, and each verifier has a salt of its…',
    async () => {
      const ana = await person()
      const [{ id } = {}] = await service().database.sql`
        select id from masked_database where binding is not null`
      const prepare = async (reset = false) => {
        const outcome = await service().enforcement.prepareLogin(id, ana.id, { reset })
        if (outcome.kind !== 'ready') return assert.fail(outcome.kind)
        const [row] =
          await sql()`select rolpassword as verifier from pg_authid where oid = ${outcome.login.oid}`
        return { ...outcome.login, verifier: String(row?.verifier) }
      }
      const saltOf = (verifier: string) => /:([^$]+)\$/.exec(verifier)?.[1]
      const former = await prepare()
      const renewed = await prepare(true)
      assert.equal(renewed.password, former.password)
      assert.notEqual(saltOf(renewed.verifier), saltOf(former.verifier))
      // The server of the former binding has the verifier, and the proof of a login that it was part of.
      const bound = await gateway.masking.send('PUT', gateway.db, {
        properties: { binding: bindingOf(gateway.masked().url) },
      })
      assert.equal(bound.status, 200, bound.text)
      const session = await people.connect(ana.name, ana.token)
      assert.equal((await session.query(read)).rows.length, 1, 'the first login sets the new password')
      const next = await prepare()
      assert.notEqual(next.password, former.password)
      const url = new URL(gateway.masked().url)
      url.username = encodeURIComponent(next.role)
      url.password = encodeURIComponent(former.password)
      const one = openDatabase({ url: url.href, poolSize: 1 })
      await assert.rejects(one.sql`select 1`)
      await one.close()
    },
  )
})
