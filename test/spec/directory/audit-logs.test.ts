import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, describe, test } from 'node:test'
import { pino } from 'pino'
import { directoryRoleTemplates } from '../../../src/auth/directory-roles.ts'
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
  const get = async (path: string, permissions: readonly string[] = reading) => {
    const token = service.tokenFor({ kind: 'application', permissions })
    const answer = await service.request('GET', path.startsWith('http') ? path : `/v1.0/auditLogs${path}`, {
      token,
    })
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
      const path = `/v1.0/users/${id}`
      const change = await service.request('PATCH', path, { token, body: { city: 'Ghent' } })
      assert.equal(change.status, 204)
      await service.request('PATCH', path, { token, body: { passwordProfile: { password: `${password}2` } } })
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
