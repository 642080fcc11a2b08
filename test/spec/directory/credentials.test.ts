import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, describe } from 'node:test'
import { permissionId, serviceAppId } from '../../../src/directory/applications/api-principal.ts'
import { takeAttempt } from '../../../src/issuer/sign-in-throttle.ts'
import { clause } from '../../support/clause.ts'
import { addApplication, addPerson, claimsOf } from '../../support/issuer.ts'
import { startTestService, type TestResponse, type TestService } from '../../support/service.ts'

describe('secrets, passwords and grants', () => {
  let service: TestService

  before(async () => {
    service = await startTestService()
  })
  after(() => service[Symbol.asyncDispose]())

  const token = (...permissions: string[]) => service.tokenFor({ permissions, kind: 'application' })
  const call = (method: string, path: string, permissions: string[], body?: unknown): Promise<TestResponse> =>
    service.request(method, `/v1.0${path}`, {
      token: token(...permissions),
      ...(body !== undefined && { body }),
    })
  const askToken = async (appId: string, secret: string) => {
    const response = await fetch(`${service.origin}/common/oauth2/v2.0/token`, {
      method: 'POST',
      body: new URLSearchParams({
        grant_type: 'client_credentials',
        client_id: appId,
        client_secret: secret,
      }),
    })
    const { access_token } = (await response.json()) as { access_token?: string }
    return access_token ? claimsOf(access_token) : null
  }
  const writeApplications = ['Application.ReadWrite.All']

  clause(
    'DIR-148',
    '`POST /applications/{id}/addPassword` adds a secret to an application and is the only answer that ever …',
    async () => {
      const { applicationId, appId } = await addApplication(service)
      const path = `/applications/${applicationId}/addPassword`
      const wish = { passwordCredential: { displayName: 'Pipeline', endDateTime: inDays(90) } }
      const { status, body } = await call('POST', path, writeApplications, wish)
      assert.equal(status, 200)
      assert.equal(body.displayName, 'Pipeline')
      assert.equal(body.endDateTime, wish.passwordCredential.endDateTime)
      assert.notEqual(await askToken(appId, body.secretText), null)
      const read = await call('GET', `/applications/${applicationId}`, writeApplications)
      assert.equal(read.text.includes(body.secretText), false)
      const shown = read.body.passwordCredentials.find((one: { keyId: string }) => one.keyId === body.keyId)
      assert.equal(shown.hint, body.hint)
      const [audit] = await service.database.sql<{ row: string }[]>`
        select (e.*)::text as row from audit_event e where action = 'add password' order by id desc limit 1`
      assert.equal(audit?.row.includes(body.secretText), false)

      for (const permission of ['Directory.ReadWrite.All', 'Application.Read.All'])
        assert.equal((await call('POST', path, [permission], {})).status, 403, permission)
      const wrong: unknown[] = [
        { passwordCredential: { endDateTime: inDays(-1) } },
        { passwordCredential: { endDateTime: inDays(5000) } },
        { passwordCredential: { endDateTime: 'tomorrow' } },
        { passwordCredential: { secretText: 'mine' } },
      ]
      for (const sent of wrong) assert.equal((await call('POST', path, writeApplications, sent)).status, 400)
      const changed = await call('PATCH', `/applications/${applicationId}`, writeApplications, {
        passwordCredentials: [],
      })
      assert.equal(changed.status, 400)
    },
  )

  clause(
    'DIR-149',
    '`POST /applications/{id}/removePassword` with a `keyId` removes a secret, which is of no use from then on; …',
    async () => {
      const { applicationId, appId } = await addApplication(service)
      const added = await call('POST', `/applications/${applicationId}/addPassword`, writeApplications, {})
      const { keyId, secretText } = added.body
      const path = `/applications/${applicationId}/removePassword`
      assert.equal((await call('POST', path, ['Directory.ReadWrite.All'], { keyId })).status, 403)
      assert.equal((await call('POST', path, writeApplications, { keyId })).status, 204)
      assert.equal(await askToken(appId, secretText), null)
      assert.equal((await call('POST', path, writeApplications, { keyId })).status, 400)
      assert.equal((await call('POST', path, writeApplications, { keyId: "x'" })).status, 400)
    },
  )

  const grantRoles = ['AppRoleAssignment.ReadWrite.All', 'Application.Read.All']

  const findApi = async () => {
    const list = await call('GET', `/servicePrincipals?$filter=appId eq '${serviceAppId}'`, [
      'Application.Read.All',
    ])
    return list.body.value[0] as { id: string; appRoles: { id: string; value: string }[] }
  }

  clause(
    'DIR-150',
    'Application permissions are granted, listed and taken away as `appRoleAssignments` of a service principal …',
    async () => {
      const api = await findApi()
      const role = api.appRoles.find(({ value }) => value === 'Group.Read.All')
      assert.equal(role?.id, permissionId('Group.Read.All'))
      for (const collection of ['appRoleAssignments', 'appRoleAssignedTo']) {
        const { servicePrincipalId: principalId, appId, secret } = await addApplication(service)
        const owner = collection === 'appRoleAssignments' ? principalId : api.id
        const path = `/servicePrincipals/${owner}/${collection}`
        const body: Record<string, unknown> = { principalId, resourceId: api.id, appRoleId: role?.id }
        assert.equal((await call('POST', path, ['AppRoleAssignment.ReadWrite.All'], body)).status, 403)
        assert.equal(
          (await call('POST', path, ['Directory.ReadWrite.All', ...writeApplications], body)).status,
          403,
        )
        const made = await call('POST', path, grantRoles, body)
        assert.equal(made.status, 201, made.text)
        assert.deepEqual((await askToken(appId, secret))?.roles, ['Group.Read.All'])
        assert.equal((await call('POST', path, grantRoles, body)).status, 409)
        const listed = await call('GET', path, ['Application.Read.All'])
        assert.ok(listed.body.value.some(({ id }: { id: string }) => id === made.body.id))
        const at = `${path}/${made.body.id}`
        assert.equal((await call('DELETE', at, ['Application.Read.All'])).status, 403)
        assert.equal((await call('DELETE', at, grantRoles)).status, 204)
        assert.equal((await call('DELETE', at, grantRoles)).status, 404)
        assert.deepEqual((await askToken(appId, secret))?.roles, [])
      }
      const { servicePrincipalId: principalId } = await addApplication(service)
      const path = `/servicePrincipals/${principalId}/appRoleAssignments`
      const wrong = [
        { principalId: api.id, resourceId: api.id, appRoleId: role?.id },
        { principalId, resourceId: principalId, appRoleId: role?.id },
        { principalId, resourceId: api.id, appRoleId: api.id },
      ]
      for (const body of wrong) assert.equal((await call('POST', path, grantRoles, body)).status, 400)
      assert.equal((await call('DELETE', `${path}/nonsense`, grantRoles)).status, 404)
    },
  )

  const consent = ['DelegatedPermissionGrant.ReadWrite.All']

  clause(
    'DIR-151',
    'Delegated permissions are consented, listed, changed and withdrawn as `oauth2PermissionGrants`, for one user …',
    async () => {
      const api = await findApi()
      const { servicePrincipalId: clientId } = await addApplication(service)
      const person = await addPerson(service)
      const all = { clientId, consentType: 'AllPrincipals', resourceId: api.id, scope: 'User.Read openid' }
      const one = { ...all, consentType: 'Principal', principalId: person.id, scope: 'Group.Read.All' }
      const path = '/oauth2PermissionGrants'
      assert.equal((await call('POST', path, ['Directory.ReadWrite.All'], all)).status, 403)
      const ids: string[] = []
      for (const body of [all, one]) {
        const made = await call('POST', path, consent, body)
        assert.equal(made.status, 201, made.text)
        ids.push(made.body.id)
        assert.equal((await call('POST', path, consent, body)).status, 409)
      }
      const filter = `${path}?$filter=clientId eq '${clientId}' and consentType eq 'Principal'`
      const listed = await call('GET', filter, ['Directory.Read.All'])
      assert.deepEqual(
        listed.body.value.map(({ id, scope }: { id: string; scope: string }) => [id, scope]),
        [[ids[1], 'Group.Read.All']],
      )
      const ofClient = await call('GET', `/servicePrincipals/${clientId}/oauth2PermissionGrants`, consent)
      assert.equal(ofClient.body.value.length, 2)

      assert.equal((await call('PATCH', `${path}/${ids[0]}`, consent, { scope: 'Mail.Read' })).status, 204)
      assert.equal((await call('GET', `${path}/${ids[0]}`, consent)).body.scope, 'Mail.Read')
      assert.equal((await call('PATCH', `${path}/${ids[0]}`, consent, { scope: 'Nothing' })).status, 400)
      assert.equal((await call('GET', `${path}/${ids[0]}`, consent)).body.scope, 'Mail.Read')
      assert.equal((await call('DELETE', `${path}/${ids[0]}`, consent)).status, 204)
      assert.equal((await call('GET', `${path}/${ids[0]}`, consent)).status, 404)

      const wrong = [
        { ...all, scope: '' },
        { ...all, scope: 'Everything' },
        { ...all, resourceId: clientId },
        { ...all, principalId: person.id },
        { ...all, consentType: 'Principal' },
      ]
      for (const body of wrong) assert.equal((await call('POST', path, consent, body)).status, 400)
      assert.equal((await call('GET', `${path}?$filter=scope eq 'x'`, consent)).status, 400)
    },
  )

  clause(
    'DIR-152',
    "`POST /me/changePassword` changes the caller's password when `currentPassword` is right; wrong ones are …",
    async () => {
      const person = await addPerson(service)
      const own = () => service.tokenFor({ permissions: ['User.Read'], principal: person.id })
      const change = (currentPassword: string, newPassword: string) =>
        service.request('POST', '/v1.0/me/changePassword', {
          token: own(),
          body: { currentPassword, newPassword },
        })
      const next = 'Another long password 7'
      assert.equal((await change('not it', next)).status, 400)
      assert.equal((await change(person.password, 'short')).status, 400)
      assert.equal((await change(person.password, person.password)).status, 400)
      assert.equal((await change(person.password, next)).status, 204)
      await service.database.sql`delete from token_cutoff where principal_id = ${person.id}`
      const statuses: number[] = []
      for (let count = 0; count < 6; count++) statuses.push((await change('not it', next)).status)
      assert.deepEqual(statuses, [400, 400, 400, 400, 400, 429])
      const signIns = { account: person.userPrincipalName, address: '192.0.2.1' }
      assert.equal(await takeAttempt(service.database.sql, signIns), 0, 'the sign-in is not locked')
      const token = service.tokenFor({
        permissions: ['User.Read'],
        principal: person.id,
        applicationId: randomUUID(),
      })
      for (let count = 0; count < 200; count++) await takeAttempt(service.database.sql, signIns)
      const body = { currentPassword: next, newPassword: 'A third long password 8' }
      const elsewhere = await service.request('POST', '/v1.0/me/changePassword', { token, body })
      assert.equal(elsewhere.status, 204, 'neither failed sign-ins nor another application lock it')
      const application = await call('POST', '/me/changePassword', [], {
        currentPassword: 'x',
        newPassword: next,
      })
      assert.equal(application.status, 400)
    },
  )
})

function inDays(days: number): string {
  return new Date(Date.now() + days * 24 * 60 * 60 * 1000).toISOString()
}
