import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { before, describe } from 'node:test'
import pg from 'pg'
import { clause } from '../../support/clause.ts'
import { useGateway } from '../../support/gateway.ts'
import { policyUrl } from '../../support/masking.ts'
import { bringPeople, endedBy } from '../../support/people.ts'
import { retryUntil, waitUntil } from '../../support/wait-until.ts'

const raw = 'ann@example.com'
const masked = 'aXXX@XXXX.com'
const read = 'select email from public.customers where id = 1'

/** Twice the documented time: machines that run tests are busy. */
const patienceMs = 4_000

describe('a login with a directory account', () => {
  const gateway = useGateway()
  let people: Awaited<ReturnType<typeof bringPeople>>
  let group = ''
  before(async () => {
    people = await bringPeople(gateway)
    group = await people.directory.group()
    await people.map(group)
  })

  const audited = (action: string, objectId: string) =>
    gateway.masking.service().database.sql<{ actor: { kind: string }; after: Record<string, unknown> }[]>`
      select actor, after from masquerade.audit_event
      where action = ${action} and actor ->> 'objectId' = ${objectId} order by id desc`

  /** It is written behind the answer. */
  const refusalOf = (objectId: string) =>
    waitUntil('the refusal is audited', async () => (await audited('gateway/refuse', objectId))[0])

  /** DIR-275: logins at the gateway are sign-ins. */
  const signInsOf = (id: string, count: number) =>
    waitUntil(`${count} sign-ins`, async () => {
      const rows = await gateway.masking.service().database.sql<
        { code: number; client: string; address: string }[]
      >`
        select (properties #>> '{status,errorCode}')::int as code, properties ->> 'clientAppUsed' as client,
          properties ->> 'ipAddress' as address
        from sign_in where user_id = ${id} order by code`
      const shown = rows.map(({ code, client, address }) => [code, client, address])
      return shown.length >= count ? shown : undefined
    })

  // A userPrincipalName and a token of theirs are let in, with the roles of their groups at any depth.
  clause(
    'GATE-10',
    'A person who gives their userPrincipalName as the user and their access token as the…',
    async () => {
      const inner = await people.directory.group()
      await people.directory.join(inner, group)
      const ana = await people.user(inner)
      const client = await people.connect(ana.name.toUpperCase(), ana.token)
      assert.equal((await client.query(read)).rows[0].email, masked)
      const { rows } = await client.query('select current_user as me, session_user as was')
      const role = `${ana.name}/${new URL(gateway.masked().url).pathname.slice(1)}`
      assert.deepEqual(rows, [{ me: role, was: role }])
      await assert.rejects(client.query("insert into public.customers values (99, 'x', 'y', null)"), {
        code: '42501',
      })
      await client.end()
      const [entry] = await audited('gateway/connect', ana.id)
      assert.equal(entry?.actor.kind, 'delegated')
      await assert.rejects(people.connect(ana.name, `${ana.token}x`))
      assert.deepEqual(await signInsOf(ana.id, 2), [
        [0, 'PostgreSQL', '127.0.0.1'],
        [500133, 'PostgreSQL', '127.0.0.1'],
      ])
      assert.deepEqual(entry?.after, { role, from: '127.0.0.1', encrypted: false })
    },
  )

  // The same over TLS, prepared and in binary.
  clause(
    'GATE-10',
    'A person who gives their userPrincipalName as the user and their access token as the…',
    async () => {
      const ana = await people.user(group)
      const client = await people.connect(ana.name, ana.token, { ssl: { rejectUnauthorized: false } })
      const query = { text: 'select email from customers where id = $1', values: [1], binary: true }
      assert.equal((await client.query(query as pg.QueryConfig)).rows[0].email, masked)
      await client.end()
    },
  )

  // An appId and a token of the application are let in.
  clause(
    'GATE-11',
    'An application logs in the same way: its appId as the user and an application token as the password. A user…',
    async () => {
      const appId = randomUUID()
      const id = await people.directory.add('servicePrincipal', { displayName: 'A job', appId })
      await people.map(id)
      const token = gateway.masking
        .service()
        .tokenFor({ kind: 'application', principal: id, applicationId: appId })
      const client = await people.connect(appId, token)
      assert.equal((await client.query(read)).rows[0].email, masked)
      await client.end()
      assert.equal((await audited('gateway/connect', id))[0]?.actor.kind, 'application')
    },
  )

  // A name and a token that do not belong together are refused alike, whoever exists.
  clause(
    'GATE-12',
    "Name and token must belong to the same principal. A person's token must carry…",
    async () => {
      const service = gateway.masking.service()
      const ana = await people.user(group)
      const bob = await people.user(group)
      const appId = randomUUID()
      const app = await people.directory.add('servicePrincipal', { displayName: 'A job', appId })
      const appToken = service.tokenFor({ kind: 'application', principal: app, applicationId: appId })
      const withoutScope = service.tokenFor({ principal: ana.id, permissions: ['User.Read'] })
      const personal = service.tokenFor({
        principal: ana.id,
        personal: true,
        permissions: ['user_impersonation'],
      })
      const forged = `${ana.token.slice(0, -4)}AAAA`
      const cases: [string, string][] = [
        [ana.name, bob.token],
        ['nobody@example.com', bob.token],
        ['nobody@example.com', 'x'],
        [ana.name, ''],
        [ana.name, 'secret'],
        [ana.name, `x ${ana.token}`],
        [ana.name, forged],
        [ana.name, appToken],
        [ana.name, withoutScope],
        [ana.name, personal],
        [ana.id, ana.token],
        [appId, ana.token],
        [randomUUID(), appToken],
      ]
      const said = new Set<string>()
      for (const [name, token] of cases)
        await assert.rejects(people.connect(name, token || ' '), (error: pg.DatabaseError) => {
          assert.equal(error.code, '28P01', `${name}: ${error.message}`)
          said.add(error.message.replace(name, 'NAME'))
          return true
        })
      assert.equal(said.size, 1, [...said].join('\n'))
      const entry = await refusalOf(ana.name)
      assert.equal(entry?.actor.kind, 'unknown')
      assert.equal(entry?.after.from, '127.0.0.1')
      assert.doesNotMatch(JSON.stringify(entry), /eyJ/)
    },
  )

  // An expired token is called so.
  clause(
    'GATE-12',
    "Name and token must belong to the same principal. A person's token must carry…",
    async () => {
      const service = gateway.masking.service()
      const ana = await people.user(group)
      const claims = service.tokens.claimsFor({ principal: ana.id, permissions: ['user_impersonation'] })
      const then = Math.floor(Date.now() / 1000) - 7200
      const token = service.tokens.signToken({ ...claims, iat: then, nbf: then, exp: then + 3600 })
      await assert.rejects(people.connect(ana.name, token), { code: '28P01', message: /has expired/ })
    },
  )

  // A person without a mapped role is told so, and it is audited.
  clause('GATE-13', 'A principal without a mapped role in the database is refused (28000).', async () => {
    const ana = await people.user()
    await assert.rejects(people.connect(ana.name, ana.token), { code: '28000', message: /mapped/ })
    assert.match(String((await refusalOf(ana.id))?.after.reason), /mapped/)
  })

  // Losing the group ends the session and the way in.
  clause(
    'GATE-14',
    'A principal that loses the group, the mapping or the account that its login rests on loses…',
    async () => {
      const own = await people.directory.group()
      await people.map(own)
      const ana = await people.user(own)
      const client = await people.connect(ana.name, ana.token)
      await client.query('begin')
      await client.query('declare c cursor for select * from public.customers')
      const leave = () => people.leave(own, ana.id)
      assert.equal(await endedBy(client, patienceMs, leave), '57P01')
      await assert.rejects(people.connect(ana.name, ana.token), { code: '28000' })
      await people.directory.join(ana.id, own)
      const again = await people.connect(ana.name, ana.token)
      assert.equal((await again.query(read)).rows[0].email, masked)
      await again.end()
    },
  )

  // With an earlier session still open, and without one.
  clause(
    'GATE-115',
    'A session has the masks of the memberships that its role has when the login ends. A membership…',
    async () => {
      const newcomer = await gateway.masked().createRole('newcomer')
      const { sql } = gateway.masked().database
      for (const staysOpen of [true, false]) {
        const early = await gateway.connect('newcomer')
        await assert.rejects(early.query(read), { code: '42501' })
        if (!staysOpen) await early.end()
        await sql.unsafe(`grant "${people.readers}" to "${newcomer}"`)
        const late = await gateway.connect('newcomer')
        assert.equal((await late.query(read)).rows[0].email, masked)
        await late.end()
        if (staysOpen) await early.end()
        await sql.unsafe(`revoke "${people.readers}" from "${newcomer}"`)
      }
    },
  )

  // Deleting the mapping and disabling the account do the same.
  clause(
    'GATE-14',
    'A principal that loses the group, the mapping or the account that its login rests on loses…',
    async () => {
      const ana = await people.user()
      const mapping = await people.map(ana.id)
      const first = await people.connect(ana.name, ana.token)
      const unmap = async () => {
        assert.equal((await gateway.masking.send('DELETE', mapping)).status, 200)
      }
      assert.equal(await endedBy(first, patienceMs, unmap), '57P01')

      const bob = await people.user(group)
      const second = await people.connect(bob.name, bob.token)
      const service = gateway.masking.service()
      const disable = async () => {
        const disabled = await service.request('PATCH', `/v1.0/users/${bob.id}`, {
          token: service.tokenFor({ permissions: ['User.ReadWrite.All', 'Directory.ReadWrite.All'] }),
          body: { accountEnabled: false },
        })
        assert.equal(disabled.status, 204, disabled.text)
      }
      assert.equal(await endedBy(second, patienceMs, disable), '57P01')
      await assert.rejects(people.connect(bob.name, bob.token))
    },
  )

  // Exempt through a group at any depth; losing it ends the session, and what follows is masked.
  clause(
    'GATE-15',
    'A login is exempt when the policy lists the principal or a group that contains it at any…',
    async () => {
      const { masking, db } = gateway
      const outer = await people.directory.group()
      const inner = await people.directory.group()
      await people.directory.join(inner, outer)
      const ana = await people.user(group, inner)
      const before = await masking.getPolicy(db)
      const { exemptPrincipals } = before.body.properties
      const exempt = { dataMaskingState: 'Enabled', exemptPrincipals: `${exemptPrincipals};${outer}` }
      assert.equal((await masking.putPolicy(db, exempt)).status, 200, policyUrl(db))
      const client = await people.connect(ana.name, ana.token)
      assert.equal((await client.query(read)).rows[0].email, raw)
      const leave = () => people.leave(inner, ana.id)
      assert.equal(await endedBy(client, patienceMs, leave), '57P01')
      // GATE-244: the session may end before the turn.
      const again = await retryUntil(
        () => people.connect(ana.name, ana.token),
        (error) => (error as pg.DatabaseError).code === '57P03',
      )
      assert.equal((await again.query(read)).rows[0].email, masked)
      await again.end()
      await masking.putPolicy(db, { dataMaskingState: 'Enabled', exemptPrincipals })
    },
  )

  // A password that somebody set for the login role is put right at the next login.
  clause(
    'GATE-16',
    'A login role whose password was changed by hand gets its own password back at the next login.',
    async () => {
      const ana = await people.user(group)
      await (await people.connect(ana.name, ana.token)).end()
      const role = `${ana.name}/${new URL(gateway.masked().url).pathname.slice(1)}`
      await gateway.masked().database.sql.unsafe(`alter role "${role}" password 'known'`)
      const client = await people.connect(ana.name, ana.token)
      assert.equal((await client.query(read)).rows[0].email, masked)
      await client.end()
      const direct = new pg.Client({ ...readUrl(gateway.masked().url), user: role, password: 'known' })
      await assert.rejects(direct.connect(), { code: '28P01' })
    },
  )

  // A role of somebody else under the name of a login role is left alone, and nobody gets in as it.
  clause(
    'GATE-17',
    'A role that has the name of a login role but was not made by the controller is not…',
    async () => {
      const ana = await people.user(group)
      const role = `${ana.name}/${new URL(gateway.masked().url).pathname.slice(1)}`
      const { sql } = gateway.masked().database
      await sql.unsafe(`create role "${role}" login password 'known'`)
      try {
        await assert.rejects(people.connect(ana.name, ana.token), {
          code: '28000',
          message: /was not made by/,
        })
        const [row] =
          await sql`select rolcanlogin, (select count(*)::int from pg_auth_members where member = r.oid) as n
        from pg_roles r where rolname = ${role}`
        assert.deepEqual({ ...row }, { rolcanlogin: true, n: 0 })
      } finally {
        await sql.unsafe(`drop role "${role}"`)
      }
    },
  )
})

function readUrl(url: string) {
  const { hostname: host, port, pathname } = new URL(url)
  return { host, port: Number(port), database: pathname.slice(1) }
}
