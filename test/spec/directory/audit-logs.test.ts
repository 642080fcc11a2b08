import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { after, before, describe, test } from 'node:test'
import { pino } from 'pino'
import { directoryRoleTemplates } from '../../../src/auth/directory-roles.ts'
import { migrationDirectory } from '../../../src/db/migrate.ts'
import { SignInLog } from '../../../src/directory/audit-logs/sign-in-log.ts'
import { deleteSignInsBefore } from '../../../src/directory/audit-logs/store-sign-ins.ts'
import { Browser } from '../../support/browser.ts'
import { clause } from '../../support/clause.ts'
import { fillDirectory, type TestDirectory } from '../../support/directory.ts'
import { addApplication, addPerson, trustService } from '../../support/issuer.ts'
import { startTestService, type TestService } from '../../support/service.ts'
import { beginSignIn, signIn, singlePage } from '../../support/sign-in.ts'
import { waitUntil } from '../../support/wait-until.ts'

interface SignIn {
  readonly id: string
  readonly createdDateTime: string
  readonly userPrincipalName: string | null
  readonly userId: string | null
  readonly appId: string | null
  readonly ipAddress: string
  readonly isInteractive: boolean
  readonly signInEventTypes: readonly string[]
  readonly attempts: number
  readonly status: { readonly errorCode: number; readonly failureReason: string }
}

interface DirectoryAudit {
  readonly activityDisplayName: string
  readonly targetResources: readonly {
    readonly modifiedProperties: readonly { readonly displayName: string }[]
  }[]
}

describe('audit logs', () => {
  let service: TestService
  let directory: TestDirectory

  before(async () => {
    service = await startTestService()
    trustService(service)
    directory = fillDirectory(service)
  })
  after(() => service?.[Symbol.asyncDispose]())

  const reading = ['AuditLog.Read.All']
  const get = async (address: string, permissions: readonly string[] = reading) => {
    const token = service.tokenFor({ kind: 'application', permissions })
    const answer = await service.request(
      'GET',
      address.startsWith('http') ? address : `/v1.0/auditLogs${address}`,
      {
        token,
      },
    )
    assert.equal(answer.status, 200, answer.text)
    return answer.body
  }

  clause(
    'DIR-274',
    '`GET /auditLogs/directoryAudits` lists the changes of the directory, newest first, with `initiatedBy`, `targetResources` and their `modifiedProperties`. …',
    async () => {
      const admin = await addPerson(service)
      const token = service.tokenFor({
        principal: admin.id,
        permissions: ['User.ReadWrite.All', 'Directory.ReadWrite.All', 'Directory.AccessAsUser.All'],
        directoryRoles: [directoryRoleTemplates['Global Administrator']],
      })
      const password = `Never shown ${randomUUID()}`
      const made = await service.request('POST', '/v1.0/users', {
        token,
        body: {
          displayName: 'Ada',
          accountEnabled: true,
          mailNickname: 'ada',
          userPrincipalName: `ada-${randomUUID()}@example.com`,
          passwordProfile: { password },
        },
      })
      assert.equal(made.status, 201, made.text)
      const { id, userPrincipalName } = made.body
      const userPath = `/v1.0/users/${id}`
      const change = await service.request('PATCH', userPath, { token, body: { city: 'Ghent' } })
      assert.equal(change.status, 204)
      await service.request('PATCH', userPath, {
        token,
        body: { passwordProfile: { password: `${password}2` } },
      })
      const about = `$filter=targetResources/any(t:t/id eq '${id}')`
      const all = await get(`/directoryAudits?${about}`)
      assert.ok(!JSON.stringify(all).includes('Never shown'))
      const [, updated, created] = all.value
      assert.equal(created.activityDisplayName, 'Create user')
      assert.deepEqual(
        [created.category, created.operationType, created.result],
        ['UserManagement', 'Add', 'success'],
      )
      assert.deepEqual(created.initiatedBy, {
        user: {
          id: admin.id,
          displayName: 'Ada Example',
          userPrincipalName: admin.userPrincipalName,
          ipAddress: null,
        },
        app: null,
      })
      const [target] = updated.targetResources
      assert.deepEqual([target.id, target.type, target.userPrincipalName], [id, 'User', userPrincipalName])
      assert.deepEqual(target.modifiedProperties, [
        { displayName: 'city', oldValue: null, newValue: '"Ghent"' },
      ])
      assert.equal((await get(`/directoryAudits/${updated.id}`)).id, updated.id)

      const by = `initiatedBy/user/userPrincipalName eq '${admin.userPrincipalName.toUpperCase()}'`
      assert.equal((await get(`/directoryAudits?$filter=${by}`)).value.length, 3)
      const since = `activityDateTime gt ${created.activityDateTime} and ${by}`
      assert.ok((await get(`/directoryAudits?$filter=${encodeURIComponent(since)}`)).value.length >= 2)
      const first = await get(
        `/directoryAudits?$filter=${by}&$top=2&$orderby=activityDateTime asc&$count=true`,
      )
      assert.equal(first['@odata.count'], 3)
      const rest = await get(first['@odata.nextLink'])
      const seen = [...first.value, ...rest.value].map(({ id: one }: { id: string }) => one)
      assert.deepEqual(seen, all.value.map(({ id: one }: { id: string }) => one).toReversed())
      assert.ok(
        (await get('/directoryAudits?$top=999')).value.every(
          ({ activityDisplayName }: { activityDisplayName: string }) => !activityDisplayName.includes('/'),
        ),
        'entries of masking and the gateway are elsewhere',
      )
    },
  )

  clause(
    'DIR-284',
    'The contents of mailbox items (messages, events, contacts, tasks, posts and their folders) and of open extensions are in no audit entry, neither in the log nor in the store: an entry has the ids and the names of the changed properties alone, also after a deletion. …',
    async () => {
      const user = await directory.user()
      const group = await directory.unifiedGroup()
      const token = service.tokenFor({
        principal: user,
        permissions: [
          'Calendars.ReadWrite',
          'Contacts.ReadWrite',
          'Group.ReadWrite.All',
          'Mail.ReadWrite',
          'Tasks.ReadWrite',
          'User.ReadWrite',
        ],
        directoryRoles: [directoryRoleTemplates['Global Administrator']],
      })
      const secret = `private-${randomUUID()}`
      const send = async (method: string, path: string, body?: object) => {
        const answer = await service.request(method, `/v1.0${path}`, { token, ...(body && { body }) })
        assert.ok(answer.status < 300, `${method} ${path}: ${answer.text}`)
        return answer.body?.id as string
      }
      const extension = { '@odata.type': 'vendor.graph.openTypeExtension', extensionName: 'org.example.x' }
      const body = { contentType: 'text', content: secret }
      const extensions = [{ ...extension, k: secret }]
      const thread = await send('POST', `/groups/${group}/threads`, {
        topic: secret,
        posts: [{ body, extensions }],
      })
      await send('POST', `/groups/${group}/threads/${thread}/reply`, { post: { body } })
      await send('POST', '/me/mailFolders', { displayName: secret })
      await send('POST', '/me/contacts', { displayName: secret })
      const list = await send('POST', '/me/todo/lists', { displayName: secret })
      await send('POST', `/me/todo/lists/${list}/tasks`, { title: secret })
      await send('POST', '/me/events', { subject: secret, extensions })
      await send('POST', '/me/extensions', { ...extension, k: secret })
      await send('PATCH', '/me/extensions/org.example.x', { ...extension, k: `${secret}2` })
      await send('DELETE', '/me/extensions/org.example.x')
      const message = await send('POST', '/me/messages', { subject: secret, body })
      await send('PATCH', `/me/messages/${message}`, { subject: `${secret}2` })
      await send('POST', `/me/messages/${message}/extensions`, { ...extension, k: secret })
      await send('DELETE', `/me/messages/${message}`)

      const { sql } = service.database
      const [held] = await sql<{ count: number }[]>`
        select count(*) as count from audit_event entry where entry::text like ${`%${secret}%`}`
      assert.equal(held?.count, 0, 'the store holds no value')
      const about = `$filter=targetResources/any(t:t/id eq '${user}')`
      const { value } = await get(`/directoryAudits?$top=999&${about}`)
      assert.ok(!JSON.stringify(value).includes(secret))
      const names = value
        .slice(0, 4)
        .map(({ activityDisplayName, targetResources: [target] }: DirectoryAudit) => [
          activityDisplayName,
          target?.modifiedProperties.map(({ displayName }) => displayName),
        ])
      assert.deepEqual(names, [
        ['Delete message', ['body', 'subject']],
        ['Create openExtension', ['extensionName', 'k']],
        ['Update message', ['subject']],
        ['Create message', ['body', 'subject']],
      ])
    },
  )

  clause(
    'DIR-286',
    'The entry of a write that sets a password has `passwordProfile` among the `modifiedProperties`, with `"(set)"` for the value.',
    async () => {
      const token = service.tokenFor({
        kind: 'application',
        permissions: ['User.ReadWrite.All', 'Directory.ReadWrite.All'],
      })
      const password = `Never shown ${randomUUID()}`
      const made = await service.request('POST', '/v1.0/users', {
        token,
        body: {
          displayName: 'Ada',
          accountEnabled: true,
          mailNickname: 'ada',
          userPrincipalName: `ada-${randomUUID()}@example.com`,
          passwordProfile: { password },
        },
      })
      assert.equal(made.status, 201, made.text)
      const passwordProfile = { password: `${password}2`, forceChangePasswordNextSignIn: false }
      const { id } = made.body
      const reset = await service.request('PATCH', `/v1.0/users/${id}`, { token, body: { passwordProfile } })
      assert.equal(reset.status, 204, reset.text)
      const { value } = await get(`/directoryAudits?$filter=targetResources/any(t:t/id eq '${id}')`)
      assert.ok(!JSON.stringify(value).includes('Never shown'))
      const [updated, created] = value.map(
        ({ targetResources: [target] }: DirectoryAudit) => target?.modifiedProperties,
      )
      const entry = { displayName: 'passwordProfile', oldValue: null, newValue: '"(set)"' }
      assert.deepEqual(updated, [entry])
      assert.deepEqual(
        created.find(({ displayName }: { displayName: string }) => displayName === 'passwordProfile'),
        entry,
      )
    },
  )

  test('DIR-284: values in entries of earlier versions are removed', async () => {
    const { sql } = service.database
    const secret = `private-${randomUUID()}`
    const target = `/users/${randomUUID()}/messages/${randomUUID()}`
    const entries = [
      ['create message', null, { subject: secret, body: { content: secret } }],
      ['update message', { subject: secret, isRead: true }, { subject: `${secret}2`, isRead: true }],
      ['update message', { isRead: true }, { isRead: true }],
      ['delete openExtension', { k: secret }, null],
      ['update user', { city: 'Ghent' }, { city: 'Bruges' }],
    ] as const
    for (const [action, old, now] of entries)
      await sql`
        insert into audit_event (tenant_id, actor, action, target, before, after) values
          (${service.tenantId}, '{}', ${action}, ${target}, ${old && sql.json(old)}, ${now && sql.json(now)})`
    const migration = path.join(migrationDirectory, '0023-private-audits.sql')
    await sql.unsafe(readFileSync(migration, 'utf8'))
    const rows = await sql`select before, after from audit_event where target = ${target} order by id`
    assert.deepEqual(
      rows.map(({ before: old, after: now }) => [old, now]),
      [
        [null, ['body', 'subject']],
        [null, ['subject']],
        [null, []],
        [['k'], null],
        [{ city: 'Ghent' }, { city: 'Bruges' }],
      ],
    )
  })

  test('DIR-274: reading takes the permission and, of a person, a role', async () => {
    const principal = await directory.user()
    const status = async (permissions: readonly string[], roles: readonly string[]) => {
      const token = service.tokenFor({ principal, permissions, directoryRoles: roles })
      const answers = ['directoryAudits', 'directoryAudits/$count', 'signIns', `signIns/${randomUUID()}`].map(
        async (name) => (await service.request('GET', `/v1.0/auditLogs/${name}`, { token })).status,
      )
      return await Promise.all(answers)
    }
    assert.deepEqual(await status(reading, []), [403, 403, 403, 403])
    assert.deepEqual(
      await status(reading, [directoryRoleTemplates['User Administrator']]),
      [403, 403, 403, 403],
    )
    assert.deepEqual(
      await status(['Directory.ReadWrite.All'], [directoryRoleTemplates['Security Reader']]),
      [403, 403, 403, 403],
    )
    for (const role of [
      'Global Administrator',
      'Global Reader',
      'Security Administrator',
      'Security Reader',
    ] as const)
      assert.deepEqual(await status(reading, [directoryRoleTemplates[role]]), [200, 200, 200, 404], role)
  })

  const signInsOf = async (filter: string, count: number): Promise<SignIn[]> =>
    waitUntil(`${count} sign-ins`, async () => {
      const { value } = await get(`/signIns?$filter=${encodeURIComponent(filter)}`)
      return value.length >= count ? value : undefined
    })

  clause(
    'DIR-275',
    '`GET /auditLogs/signIns` lists sign-ins under the same rules: on the pages, by a browser that is signed in, by device code and refresh token, by the credentials of an application, and of principals at the gateway, whether they succeeded or failed. …',
    async () => {
      const person = await addPerson(service)
      const disabled = await addPerson(service, { accountEnabled: false })
      const consented = ['openid', 'offline_access', 'User.Read']
      const { appId, secret } = await addApplication(service, { properties: singlePage, consented })
      const browser = new Browser('https://client.example')
      const typed = `a password in the wrong field ${randomUUID()}`
      const { url, exchange, config } = await beginSignIn(service, appId, 'openid offline_access User.Read')
      for (const user of [person.userPrincipalName, typed, disabled.userPrincipalName])
        await browser.submit(await browser.open(url), { user, password: 'wrong' })
      const tokens = await exchange(await signIn(browser, await browser.open(url), person))
      const oidc = await import('openid-client')
      await oidc.refreshTokenGrant(config, tokens.refresh_token ?? '')
      await assert.rejects(oidc.refreshTokenGrant(config, 'not a token'))
      const again = await beginSignIn(service, appId, 'openid User.Read')
      await browser.open(again.url)

      const mine = await signInsOf(`userPrincipalName eq '${person.userPrincipalName}'`, 4)
      const outcomes = mine.map(({ status, isInteractive }) => [status.errorCode, isInteractive])
      assert.deepEqual(outcomes.toSorted(), [
        [0, false],
        [0, false],
        [0, true],
        [50126, true],
      ])
      for (const one of mine) assert.deepEqual([one.userId, one.appId], [person.id, appId])
      assert.match(mine[0]?.ipAddress ?? '', /127\.0\.0\.1|::1/)
      const failed = await signInsOf(`appId eq '${appId}' and status/errorCode ne 0`, 4)
      assert.deepEqual(failed.map(({ status }) => status.errorCode).toSorted(), [50034, 50057, 50126, 70008])
      assert.ok(!JSON.stringify(await get('/signIns?$top=999')).includes('wrong field'))

      const daemon = await addApplication(service)
      const ask = (client_secret: string) =>
        fetch(`${service.auth.identity.origin()}/${service.tenantId}/oauth2/v2.0/token`, {
          method: 'POST',
          body: new URLSearchParams({
            grant_type: 'client_credentials',
            client_id: daemon.appId,
            client_secret,
            scope: `${service.auth.identity.origin()}/.default`,
          }),
        })
      assert.equal((await ask(daemon.secret)).status, 200)
      assert.equal((await ask(`${daemon.secret}x`)).status, 401)
      const own = await signInsOf(`appId eq '${daemon.appId}'`, 2)
      assert.deepEqual(own.map(({ status }) => status.errorCode).toSorted(), [0, 7000215])
      for (const one of own)
        assert.deepEqual([one.userId, one.signInEventTypes], [null, ['servicePrincipal']])
      assert.ok(!JSON.stringify(own).includes(daemon.secret))
      assert.ok(secret.length > 0)

      const since = `createdDateTime ge ${own.at(-1)?.createdDateTime} and appId eq '${daemon.appId}'`
      assert.equal((await get(`/signIns?$filter=${since}`)).value.length, 2)
      assert.deepEqual((await get('/signIns?$filter=createdDateTime lt 2020-01-01T00:00:00Z')).value, [])

      const sorted = await get(`/signIns?$orderby=createdDateTime asc&$top=2`)
      assert.ok(sorted.value[0].createdDateTime <= sorted.value[1].createdDateTime)
      const next = await get(sorted['@odata.nextLink'])
      assert.ok(sorted.value.every(({ id }: SignIn) => !next.value.some((one: SignIn) => one.id === id)))
      assert.equal((await get(`/signIns/${sorted.value[0].id}`)).id, sorted.value[0].id)
    },
  )

  clause(
    'DIR-276',
    'Sign-ins that are alike within one minute (user, application, network, way and outcome) are one entry with `attempts` and `lastAttemptDateTime`. Of failed ones a node lists at most 10 new entries per minute and network, and 30 in all, …',
    async (t) => {
      const { sql } = service.database
      const { tenantId } = service
      const log = new SignInLog({ sql, tenantId, days: 30, log: pino({ level: 'silent' }) })
      const person = await addPerson(service)
      t.mock.timers.enable({ apis: ['Date'], now: Date.parse('2031-01-01T10:00:00Z') })
      const fail = (user: string, address: string) =>
        log.record({ by: 'page', failure: 'wrongPassword', user, address, correlationId: randomUUID() })
      for (let count = 0; count < 500; count++) fail(person.userPrincipalName, '192.0.2.1')
      for (let count = 0; count < 500; count++) fail(`guess-${count}@example.com`, '192.0.2.2')
      for (let count = 0; count < 500; count++)
        fail(`guess-${count}@example.com`, `2001:db8::${count.toString(16)}`)
      for (let count = 0; count < 500; count++)
        fail(person.userPrincipalName, `198.51.${count >> 8}.${count & 255}`)
      t.mock.timers.reset()
      await log.close()
      const rows = await sql<
        { attempts: number; user_id: string | null; address: string | null; code: number }[]
      >`
        select attempts, user_id, properties ->> 'ipAddress' as address, (properties #>> '{status,errorCode}')::int as code
        from sign_in where created_at >= '2031-01-01'`
      assert.equal(rows.length, 31)
      assert.equal(
        rows.reduce((sum, { attempts }) => sum + attempts, 0),
        2000,
      )
      const first = rows.find(({ address }) => address === '192.0.2.1')
      assert.deepEqual([first?.attempts, first?.user_id, first?.code], [500, person.id, 50126])
      const guesses = rows.filter(({ address }) => address === '192.0.2.2')
      assert.deepEqual([guesses.length, guesses.filter(({ code }) => code === 50196).length], [11, 1])
      assert.equal(rows.filter(({ address }) => address?.startsWith('2001:')).length, 11)
      assert.equal(rows.filter(({ address }) => address === null).length, 1)

      await sql`update sign_in set created_at = now() - interval '31 days' where created_at >= '2031-01-01'`
      await deleteSignInsBefore(sql, tenantId, 30)
      const [left] = await sql<{ count: number }[]>`
        select count(*) as count from sign_in where window_start >= '2031-01-01'`
      assert.equal(left?.count, 0)
    },
  )
})
