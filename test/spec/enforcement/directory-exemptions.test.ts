import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { type Database, openDatabase } from '../../../src/db/database.ts'
import { createMaskedDatabase } from '../../support/masked-database.ts'
import { emailRule, freshDatabase, useMasking } from '../../support/masking.ts'
import { waitUntil } from '../../support/wait-until.ts'

describe('exemptions of people and groups of the directory', () => {
  const masking = useMasking({ MASQUERADE_AUDIT_SECONDS: '1' })
  const db = freshDatabase()
  let target: Awaited<ReturnType<typeof createMaskedDatabase>>
  let login: string
  let userId: string
  let databaseId: string
  let inner: string
  let outer: string

  const directory = async (method: string, path: string, body?: unknown) => {
    const permissions = [
      'Group.ReadWrite.All',
      'GroupMember.ReadWrite.All',
      'User.ReadWrite.All',
      'Directory.ReadWrite.All',
      'RoleManagement.ReadWrite.Directory',
    ]
    const token = masking.service().tokenFor({ permissions, kind: 'application' })
    const options = { token, ...(body !== undefined && { body }) }
    const answer = await masking.service().request(method, `/v1.0${path}`, options)
    assert.ok(answer.status < 300, `${method} ${path}: ${answer.status} ${answer.text}`)
    return answer.body
  }
  const connectAs = (role: string, password: string) => {
    const url = new URL(target.url)
    url.username = encodeURIComponent(role)
    url.password = encodeURIComponent(password)
    return openDatabase({ url: url.href, searchPath: 'public', poolSize: 1 })
  }
  /** As the person. */
  const connect = async () => {
    const outcome = await masking.service().enforcement.prepareLogin(databaseId, userId)
    if (outcome.kind !== 'ready') throw new Error(outcome.kind)
    return connectAs(outcome.login.role, outcome.login.password)
  }
  /** As a role that bears the name of the person, which anybody may have made. */
  const connectByName = async () => connectAs(login, 'secret')
  const createGroup = async (name: string): Promise<string> => {
    const group = { displayName: name, mailNickname: name, mailEnabled: false, securityEnabled: true }
    return (await directory('POST', '/groups', group)).id
  }
  const addMember = (group: string, member: string) =>
    directory('POST', `/groups/${group}/members/$ref`, {
      '@odata.id': `https://host/v1.0/directoryObjects/${member}`,
    })

  before(async () => {
    target = await createMaskedDatabase()
    login = `${target.role('ann')}@masquerade.local`
    await target.database.sql.unsafe(`create role "${login}" login password 'secret'`)
    await target.database.sql.unsafe(`
      create table public.person (id int, email text);
      insert into public.person values (1, 'ann@example.com');
      grant usage on schema public to public; grant select on public.person to public`)
    const user = await directory('POST', '/users', {
      displayName: 'Ann',
      mailNickname: 'ann',
      userPrincipalName: login,
      accountEnabled: true,
      passwordProfile: { password: 'a-Long-enough-passw0rd' },
    })
    userId = user.id
    inner = await createGroup('inner')
    outer = await createGroup('outer')
    await addMember(inner, userId)
    await addMember(outer, inner)
    const { hostname, port, username, password, pathname } = new URL(target.url)
    const account = { user: username, password: decodeURIComponent(password) }
    const binding = { host: hostname, port: Number(port), database: pathname.slice(1), ...account }
    await masking.send('PUT', db, { properties: { binding } })
    await masking.putRule(db, 'mail', emailRule)
    const databaseRole = await target.createRole('readers', 'NOLOGIN')
    const mapping = await masking.send('PUT', `${db}/roleMappings/m`, {
      properties: { databaseRole, principalId: userId },
    })
    assert.equal(mapping.status, 201, mapping.text)
    const [found] = await masking.service().database.sql`
      select id from masked_database where binding is not null`
    databaseId = found?.id
  })
  after(() => target[Symbol.asyncDispose]())

  const look = async (open: typeof connect): Promise<string> => {
    let session: Database | undefined
    try {
      session = await open()
      const [row] = await session.sql`select email from public.person`
      return String(row?.email)
    } catch (error) {
      return String(error)
    } finally {
      await session?.close()
    }
  }
  /** What the person sees of the table, once it is what it should be. */
  const eventually = async (expected: RegExp, open = connect) => {
    let seen = ''
    const isSo = async () => {
      seen = await look(open)
      return expected.test(seen)
    }
    await waitUntil(`${expected}`, isSo).catch((error) => assert.fail(`${error.message}; it stays: ${seen}`))
  }
  const exempt = (entries: string) =>
    masking.putPolicy(db, { dataMaskingState: 'Enabled', exemptPrincipals: entries })

  test('nobody is exempt by being in the directory', async () => {
    await eventually(/permission denied/)
  })

  test('a person is exempt by userPrincipalName and by id', async () => {
    await exempt(login.toUpperCase())
    await eventually(/^ann@example/)
    await exempt('')
    await eventually(/permission denied/)
    await exempt(userId)
    await eventually(/^ann@example/)
  })

  test('a role that has the name of a person is not exempt with the person', async () => {
    for (const entry of [userId, outer, login.toUpperCase(), login]) {
      await exempt(entry)
      await eventually(/^ann@example/)
      assert.match(await look(connectByName), /permission denied/, entry)
    }
  })

  test('a group by its id exempts its members at any depth, and not by its name', async () => {
    await exempt('outer')
    await eventually(/permission denied/)
    await exempt(outer)
    await eventually(/^ann@example/)
  })

  test('who leaves the group loses the exemption, and the open session with it', async () => {
    const session = await connect()
    const [own] = await session.sql`select pg_backend_pid() as pid`
    await directory('DELETE', `/groups/${inner}/members/${userId}/$ref`)
    await eventually(/permission denied/)
    await waitUntil('the end of the open session', async () => {
      const alive = await target.database.sql`select 1 from pg_stat_activity where pid = ${own?.pid}`
      return alive.length === 0
    })
    await session.close()
    await addMember(inner, userId)
    await eventually(/^ann@example/)
  })

  test('a disabled user is not exempt', async () => {
    await directory('PATCH', `/users/${userId}`, { accountEnabled: false })
    await eventually(/noRole/)
  })
})
