import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, describe } from 'node:test'
import { directoryRoleTemplates } from '../../../src/auth/directory-roles.ts'
import { firstPartyApplications } from '../../../src/auth/first-party.ts'
import { knownPermissions } from '../../../src/auth/known-permissions.ts'
import { permissionId, serviceAppId } from '../../../src/directory/applications/api-principal.ts'
import { consentPermissions } from '../../../src/directory/applications/granted-permissions.ts'
import { joinIds } from '../../../src/directory/applications/joined-id.ts'
import { readFirstStart } from '../../../src/directory/first-start/read-first-start.ts'
import { importDirectory } from '../../../src/directory/transfer/import-directory.ts'
import { clause } from '../../support/clause.ts'
import { startTestService, type TestService } from '../../support/service.ts'

const readOnly =
  'The applications and service principals of the product itself (its API, its command line, its portal and "Masquerade administration") are read-only to the API for every caller, with 403: properties, state, credentials, owners, permissions, consents, definitions, deletion and deleted items. An import does not touch them either.'

interface Client {
  readonly appId: string
  readonly application: string | undefined
  readonly principal: string
}

describe("the product's own clients", () => {
  let service: TestService
  let clients: Client[]
  let callers: string[]

  before(async () => {
    service = await startTestService()
    const { sql } = service.database
    const first = await readFirstStart(sql, service.tenantId)
    const { cli, portal } = firstPartyApplications
    const appIds = [cli.appId, portal.appId, first?.applicationId ?? '', serviceAppId]
    const rows = await sql<{ app_id: string; kind: string; id: string }[]>`
      select app_id, kind, id from directory_object where app_id = any(${appIds})`
    const find = (appId: string, kind: string) =>
      rows.find((row) => row.app_id === appId && row.kind === kind)?.id
    clients = appIds.map((appId) => ({
      appId,
      application: find(appId, 'application'),
      principal: find(appId, 'servicePrincipal') ?? '',
    }))
    assert.equal(rows.length, 7)
    const permissions = Object.keys(knownPermissions)
    const principal = service.administrator?.id ?? ''
    const directoryRoles = [directoryRoleTemplates['Global Administrator']]
    callers = [
      service.tokenFor({ permissions, principal, directoryRoles }),
      service.tokenFor({ kind: 'application', permissions }),
    ]
  })
  after(() => service[Symbol.asyncDispose]())

  /** Everything that the database holds about these clients. */
  const readAll = () => service.database.sql`
    select (o.*)::text as row from directory_object o where app_id = any(${clients.map(({ appId }) => appId)})
    union all select (p.*)::text from application_permission p
    union all select (d.*)::text from delegated_permission d
    union all select (s.*)::text from application_secret s
    union all select (e.*)::text from owner_edge e
    union all select (x.*)::text from extension_property x
    order by 1`

  const attemptsOn = ({ appId, application, principal }: Client, owner: string, api: string) => {
    const reference = { '@odata.id': `${service.origin}/v1.0/directoryObjects/${owner}` }
    const grant = joinIds(principal, owner)
    const role = { principalId: principal, resourceId: api, appRoleId: permissionId('User.Read.All') }
    const consent = { clientId: principal, consentType: 'AllPrincipals', resourceId: api, scope: 'Mail.Read' }
    const onPrincipal: [string, string, unknown?][] = [
      ['PATCH', `/servicePrincipals/${principal}`, { accountEnabled: false }],
      ['PATCH', `/servicePrincipals(appId='${appId}')`, { accountEnabled: false }],
      ['DELETE', `/servicePrincipals/${principal}`],
      ['DELETE', `/servicePrincipals(appId='${appId}')`],
      ['POST', `/servicePrincipals/${principal}/owners/$ref`, reference],
      ['POST', '/oauth2PermissionGrants', consent],
      ['PATCH', `/oauth2PermissionGrants/${grant}`, { scope: 'Mail.Read' }],
      ['DELETE', `/oauth2PermissionGrants/${grant}`],
      ['POST', `/servicePrincipals/${principal}/appRoleAssignments`, role],
      ['POST', `/servicePrincipals/${api}/appRoleAssignedTo`, role],
    ]
    const onApplication: [string, string, unknown?][] = [
      ['PATCH', `/applications/${application}`, { displayName: 'Mine' }],
      ['PATCH', `/applications/${application}`, { web: { redirectUris: ['https://evil.example/'] } }],
      ['PATCH', `/applications(appId='${appId}')`, { isFallbackPublicClient: true }],
      ['DELETE', `/applications/${application}`],
      ['POST', `/applications/${application}/addPassword`, {}],
      ['POST', `/applications/${application}/removePassword`, { keyId: randomUUID() }],
      ['POST', `/applications/${application}/owners/$ref`, reference],
      [
        'POST',
        `/applications/${application}/extensionProperties`,
        { name: 'mine', dataType: 'String', targetObjects: ['User'] },
      ],
    ]
    return application ? [...onPrincipal, ...onApplication] : onPrincipal
  }

  clause('TOK-72', readOnly, async () => {
    const { tenantId, database } = service
    const owner = service.administrator?.id ?? ''
    const api = clients.at(-1)?.principal ?? ''
    for (const { principal } of clients)
      await consentPermissions(database.sql, {
        tenantId,
        servicePrincipalId: principal,
        userId: owner,
        permissions: ['User.Read'],
      })
    // The administrative application holds every permission: one that is missing can be asked for.
    await database.sql`delete from application_permission where permission = 'User.Read.All'`
    const before = await readAll()
    for (const client of clients)
      for (const [method, path, body] of attemptsOn(client, owner, api))
        for (const token of callers) {
          const answer = await service.request(method, `/v1.0${path}`, { token, body })
          assert.equal(answer.status, 403, `${method} ${path}: ${answer.text}`)
        }
    const [granted] = await database.sql<{ permission: string; id: string }[]>`
        select permission, service_principal_id as id from application_permission limit 1`
    const assignment = joinIds(granted?.id ?? '', permissionId(granted?.permission ?? ''))
    for (const path of [`${granted?.id}/appRoleAssignments`, `${api}/appRoleAssignedTo`])
      for (const token of callers) {
        const url = `/v1.0/servicePrincipals/${path}/${assignment}`
        const answer = await service.request('DELETE', url, { token })
        assert.equal(answer.status, 403, `${url}: ${answer.text}`)
      }
    assert.deepEqual(await readAll(), before)
  })

  clause('TOK-72', readOnly, async () => {
    const { sql } = service.database
    const [cli] = clients
    const ids = [cli?.application ?? '', cli?.principal ?? '']
    await sql`update directory_object set deleted_at = now() where id = any(${ids})`
    for (const id of ids)
      for (const token of callers.slice(1)) {
        const path = `/v1.0/directory/deletedItems/${id}`
        assert.equal((await service.request('POST', `${path}/restore`, { token })).status, 403)
        assert.equal((await service.request('DELETE', path, { token })).status, 403)
      }
    const again = await service.request('POST', '/v1.0/servicePrincipals', {
      token: callers[1] ?? '',
      body: { appId: cli?.appId },
    })
    assert.notEqual(again.status, 201)
    await sql`update directory_object set deleted_at = null where id = any(${ids})`
  })

  clause('TOK-72', readOnly, async () => {
    const { tenantId, database } = service
    const [cli] = clients
    const owner = service.administrator?.id ?? ''
    const before = await readAll()
    const application = { id: randomUUID(), appId: randomUUID(), displayName: 'x' }
    const lines: object[][] = [
      [{ type: 'owner', object: cli?.application, owner }],
      [{ type: 'application', ...application, appId: cli?.appId }],
      [{ type: 'servicePrincipal', ...application, appId: serviceAppId }],
    ]
    for (const file of lines) {
      const text = file.map((line) => `${JSON.stringify(line)}\n`).join('')
      async function* chunks() {
        yield Buffer.from(text)
      }
      await assert.rejects(
        database.transaction((tx) => importDirectory(tx, { tenantId, fileName: 'mine', chunks: chunks() })),
        (error: Error & { faults?: readonly { reason: string }[] }) =>
          error.faults?.some(({ reason }) => reason.includes('belongs to the service itself')) ?? false,
        text,
      )
    }
    assert.deepEqual(await readAll(), before)
  })
})
