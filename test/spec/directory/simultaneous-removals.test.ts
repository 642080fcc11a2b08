import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, describe } from 'node:test'
import type { Tx } from '../../../src/db/database.ts'
import { permissionId, serviceAppId } from '../../../src/directory/applications/api-principal.ts'
import { clause } from '../../support/clause.ts'
import { fillDirectory } from '../../support/directory.ts'
import { askDuring } from '../../support/in-flight.ts'
import { addApplication } from '../../support/issuer.ts'
import { startTestService, type TestService } from '../../support/service.ts'
import { waitUntil } from '../../support/wait-until.ts'

describe('removals at the same time', () => {
  let service: TestService

  before(async () => {
    service = await startTestService()
  })
  after(() => service?.[Symbol.asyncDispose]())

  const send = (method: string, path: string, body?: unknown) =>
    service.request(method, `/v1.0${path}`, {
      token: service.tokenFor({
        kind: 'application',
        permissions: [
          'AppRoleAssignment.ReadWrite.All',
          'Application.Read.All',
          'Application.ReadWrite.All',
          'DelegatedPermissionGrant.ReadWrite.All',
          'Directory.ReadWrite.All',
        ],
      }),
      ...(body !== undefined && { body }),
    })
  const create = async (path: string, body: unknown) => {
    const made = await send('POST', path, body)
    assert.equal(made.status, 201, made.text)
    return made.body.id as string
  }
  const lock = (tx: Tx, id: string) => tx`select from directory_object where id = ${id} for update`
  const apiPrincipal = async () => {
    const [row] = await service.database.sql<{ id: string }[]>`
      select id from directory_object where kind = 'servicePrincipal' and app_id = ${serviceAppId}`
    return row?.id ?? assert.fail()
  }

  /** The statuses of two DELETEs that both wait for the lock of an object, and how many audit entries they leave. */
  async function removeTwice(path: string, lockedId: string, action: string) {
    const { database } = service
    const count = async () => (await database.sql`select from audit_event where action = ${action}`).count
    const earlier = await count()
    const answers = await askDuring(
      service,
      (tx) => lock(tx, lockedId),
      () => Promise.all([send('DELETE', path), send('DELETE', path)]),
      () =>
        waitUntil('both wait', async () => {
          const waiting = await database.sql`
            select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
          return waiting.count === 2
        }),
    )
    return { statuses: answers.map(({ status }) => status).sort(), entries: (await count()) - earlier }
  }
  const once = { statuses: [204, 404], entries: 1 }

  clause(
    'DIR-361',
    'Of several DELETEs of one app role assignment or consent at the same time one is 204 and has the audit entry, …',
    async () => {
      const { applicationId, servicePrincipalId: resourceId } = await addApplication(service)
      const appRole = {
        id: randomUUID(),
        value: 'Reader',
        displayName: 'Reader',
        description: 'Reader',
        allowedMemberTypes: ['User'],
        isEnabled: true,
      }
      const patched = await send('PATCH', `/applications/${applicationId}`, { appRoles: [appRole] })
      assert.equal(patched.status, 204, patched.text)
      const principalId = await fillDirectory(service).user()
      const ofUser = `/users/${principalId}/appRoleAssignments`
      const given = await create(ofUser, { principalId, resourceId, appRoleId: appRole.id })
      assert.deepEqual(await removeTwice(`${ofUser}/${given}`, resourceId, 'revoke app role'), once)

      const { servicePrincipalId: clientId } = await addApplication(service)
      const ofClient = `/servicePrincipals/${clientId}/appRoleAssignments`
      const apiId = await apiPrincipal()
      const permission = {
        principalId: clientId,
        resourceId: apiId,
        appRoleId: permissionId('User.Read.All'),
      }
      const granted = await create(ofClient, permission)
      assert.deepEqual(await removeTwice(`${ofClient}/${granted}`, apiId, 'revoke permissions'), once)

      const consent = { clientId, consentType: 'AllPrincipals', resourceId: apiId, scope: 'User.Read' }
      const consented = await create('/oauth2PermissionGrants', consent)
      const path = `/oauth2PermissionGrants/${consented}`
      assert.deepEqual(await removeTwice(path, clientId, 'withdraw consent'), once)
    },
  )

  clause(
    'DIR-362',
    'A PATCH or DELETE of a consent that waits for another change of it is about what that one left: …',
    async () => {
      const { database, tenantId } = service
      const resourceId = await apiPrincipal()
      const consent = async () => {
        const { servicePrincipalId: clientId } = await addApplication(service)
        const body = { clientId, consentType: 'AllPrincipals', resourceId, scope: 'User.Read' }
        return { clientId, path: `/oauth2PermissionGrants/${await create('/oauth2PermissionGrants', body)}` }
      }
      const left = async (clientId: string) => {
        const rows = await database.sql<{ permission: string }[]>`
          select permission from delegated_permission where client_id = ${clientId} order by permission`
        return rows.map(({ permission }) => permission)
      }
      const add = (clientId: string) => async (tx: Tx) => {
        await lock(tx, clientId)
        await tx`
          insert into delegated_permission (tenant_id, client_id, permission)
          values (${tenantId}, ${clientId}, 'Mail.Read')`
      }
      const removed = await consent()
      const removal = () => send('DELETE', removed.path)
      assert.equal((await askDuring(service, add(removed.clientId), removal)).status, 204)
      assert.deepEqual(await left(removed.clientId), [], 'the permission that was added meanwhile')

      // As the page on which people consent did before 0.2.0: it locked nothing.
      const ownConsent = await consent()
      const allow = (tx: Tx) => tx`
        insert into delegated_permission (tenant_id, client_id, permission)
        values (${tenantId}, ${ownConsent.clientId}, 'Mail.Read')`
      const withdrawal = () => send('DELETE', ownConsent.path)
      assert.equal((await askDuring(service, allow, withdrawal)).status, 204)
      assert.deepEqual(await left(ownConsent.clientId), [], 'the permission that was added on the page')

      const changed = await consent()
      const change = () => send('PATCH', changed.path, { scope: 'Calendars.Read' })
      assert.equal((await askDuring(service, add(changed.clientId), change)).status, 204)
      assert.deepEqual(await left(changed.clientId), ['Calendars.Read'])

      const withdrawn = await consent()
      const withdraw = async (tx: Tx) => {
        await lock(tx, withdrawn.clientId)
        await tx`delete from delegated_permission where client_id = ${withdrawn.clientId}`
      }
      const late = () => send('PATCH', withdrawn.path, { scope: 'User.Read Mail.Read' })
      assert.equal((await askDuring(service, withdraw, late)).status, 404)
      assert.deepEqual(await left(withdrawn.clientId), [])
    },
  )

  clause(
    'DIR-408',
    'A PATCH of a consent for a user who is deleted is 404, also where the user is deleted while the PATCH waits. …',
    async () => {
      const { database } = service
      const resourceId = await apiPrincipal()
      const { servicePrincipalId: clientId } = await addApplication(service)
      const late = async (principalId: string, path: string) => {
        const patched = await send('PATCH', path, { scope: 'User.Read Directory.Read.All' })
        const rows = await database.sql<{ permission: string }[]>`
          select permission from delegated_permission where user_id = ${principalId}`
        return [patched.status, ...rows.map(({ permission }) => permission)]
      }
      const consent = async () => {
        const principalId = await fillDirectory(service).user()
        const body = { clientId, consentType: 'Principal', principalId, resourceId, scope: 'User.Read' }
        const id = await create('/oauth2PermissionGrants', body)
        return [principalId, `/oauth2PermissionGrants/${id}`] as const
      }
      const [before, during] = [await consent(), await consent()]
      await fillDirectory(service).softDelete(before[0])
      assert.deepEqual(await late(...before), [404, 'User.Read'])
      const answer = await askDuring(
        service,
        (tx) => tx`update directory_object set deleted_at = now() where id = ${during[0]}`,
        () => late(...during),
      )
      assert.deepEqual(answer, [404, 'User.Read'])
      for (const [, path] of [before, during]) assert.equal((await send('DELETE', path)).status, 204)
    },
  )
})
