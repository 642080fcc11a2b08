import assert from 'node:assert/strict'
import { after, before, describe } from 'node:test'
import { permissionId } from '../../../src/directory/applications/api-principal.ts'
import { addSecret } from '../../../src/directory/applications/application-secret.ts'
import { clause } from '../../support/clause.ts'
import { fillDirectory } from '../../support/directory.ts'
import { addApplication } from '../../support/issuer.ts'
import { runHere } from '../../support/run-here.ts'
import { startTestService, type TestService } from '../../support/service.ts'

describe('what the audit tells of a grant', () => {
  let service: TestService

  before(async () => {
    service = await startTestService()
  })
  after(() => service[Symbol.asyncDispose]())

  clause(
    'TOK-143',
    'The audit entry of a permission that an application is granted, or of a consent for it that is not given by…',
    async () => {
      const { database, tenantId } = service
      const properties = {
        web: { redirectUris: ['https://one.example/a', 'https://one.example/b'] },
        spa: { redirectUris: ['https://two.example/'] },
      }
      const { appId, applicationId, servicePrincipalId } = await addApplication(service, { properties })
      await addSecret(database.sql, tenantId, applicationId)
      const directory = fillDirectory(service)
      for (const id of [await directory.user(), await directory.user()])
        for (const owned of [applicationId, servicePrincipalId])
          await database.sql`
            insert into owner_edge (tenant_id, object_id, owner_id) values (${tenantId}, ${owned}, ${id})`
      const holders = { secrets: 2, certificates: 0, redirectUris: 3, owners: 2 }

      const resourceId = await directory.findApi()
      const token = service.tokenFor({
        kind: 'application',
        permissions: [
          'AppRoleAssignment.ReadWrite.All',
          'DelegatedPermissionGrant.ReadWrite.All',
          'Application.Read.All',
        ],
      })
      const ask = async (method: string, path: string, body?: object) => {
        const answer = await service.request(method, `/v1.0${path}`, { token, ...(body && { body }) })
        assert.ok(answer.status < 300, answer.text)
        return answer.body
      }
      await ask('POST', `/servicePrincipals/${servicePrincipalId}/appRoleAssignments`, {
        principalId: servicePrincipalId,
        resourceId,
        appRoleId: permissionId('User.Read.All'),
      })
      const { id } = await ask('POST', '/oauth2PermissionGrants', {
        clientId: servicePrincipalId,
        consentType: 'AllPrincipals',
        resourceId,
        scope: 'User.Read',
      })
      await ask('PATCH', `/oauth2PermissionGrants/${id}`, { scope: 'User.Read Mail.Read' })
      const { dataDir, databaseUrl } = service
      const environment = { MASQUERADE_DATA_DIR: dataDir, MASQUERADE_DATABASE_URL: databaseUrl }
      for (const verb of ['grant', 'consent']) {
        const command = ['application', verb, appId, '--permission', 'Group.Read.All']
        const { code, stderr } = await runHere(command, { environment })
        assert.equal(code, 0, stderr)
      }

      const entries = await database.sql<{ action: string; holders: unknown }[]>`
        select action, after -> 'holders' as holders from audit_event
        where target ilike ${`%${servicePrincipalId}`} and action in ('grant permissions', 'consent') order by id`
      assert.deepEqual(
        entries.map(({ action, holders }) => [action, holders]),
        ['grant permissions', 'consent', 'consent', 'grant permissions', 'consent'].map((action) => [
          action,
          holders,
        ]),
      )
    },
  )
})
