import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { clause } from '../../support/clause.ts'
import {
  apiVersion,
  emailRule,
  freshDatabase,
  policyUrl,
  rulesUrl,
  ruleUrl,
  useMasking,
} from '../../support/masking.ts'

const { service } = useMasking()

async function statusOf(token: string, method: string, path: string, body?: unknown): Promise<number> {
  const answer = await service().request(method, `${path}?${apiVersion}`, {
    token,
    ...(body !== undefined && { body }),
  })
  return answer.status
}

const mayRead = async (token: string, db: string) => (await statusOf(token, 'GET', rulesUrl(db))) === 200

clause(
  'MASK-86',
  'A caller without the right is answered 403 `AuthorizationFailed`, and the message names the client, the action and the scope.',
  async () => {
    const db = freshDatabase()
    const { tokens, request } = service()
    for (const kind of ['delegated', 'application'] as const) {
      const token = tokens.tokenFor({ kind, permissions: ['user_impersonation'] })
      const { status, body } = await request('PUT', `${ruleUrl(db, 'r')}?${apiVersion}`, {
        token,
        body: { properties: emailRule },
      })
      assert.equal(status, 403)
      assert.equal(body.error.code, 'AuthorizationFailed')
      for (const part of [
        tokens.shared.appId,
        'Vendor.Sql/servers/databases/dataMaskingPolicies/rules/write',
        db,
      ])
        assert.ok(body.error.message.includes(part), part)
    }
    // Before anything else of the request is looked at.
    const token = tokens.tokenFor({})
    assert.equal((await request('PUT', ruleUrl(db, 'r'), { token, body: '{' })).status, 403)
  },
)

clause(
  'MASK-87',
  'Rights come from role assignments at a scope: `/`, a subscription, a resource group, a server or a database; an assignment counts for everything below its scope and for nothing beside it.',
  async () => {
    const db = '/subscriptions/S/resourceGroups/G/providers/Vendor.Sql/servers/V/databases/D'
    const scopes: [string, string | null][] = [
      ['/', null],
      ['/subscriptions/S', db.replace('/S/', '/S2/')],
      ['/subscriptions/S/resourceGroups/G', db.replace('/G/', '/G2/')],
      ['/subscriptions/S/resourceGroups/G/providers/Vendor.Sql/servers/V', db.replace('/V/', '/V2/')],
      [db, `${db}2`],
    ]
    for (const [scope, beside] of scopes) {
      const token = service().tokenFor({ role: 'Reader', scope })
      assert.ok(await mayRead(token, db), scope)
      assert.ok(await mayRead(token, db.toUpperCase()), scope)
      assert.ok(await mayRead(token, db.replace('Vendor.Sql', 'Microsoft.Sql')), scope)
      if (beside) assert.ok(!(await mayRead(token, beside)), beside)
    }
    const narrow = service().tokenFor({ role: 'Owner', scope: db })
    assert.equal(await statusOf(narrow, 'GET', `${db.replace(/\/databases.*/, '')}/databases`), 403)
    assert.equal(await statusOf(narrow, 'GET', db.replace('/D', '/D%2Fx')), 403)
  },
)

clause(
  'MASK-88',
  'A role is assigned to a directory user, a service principal or a group; a group counts for its members through any depth of nesting.',
  async () => {
    const db = freshDatabase()
    const { database, tenantId, tokens } = service()
    for (const kind of ['delegated', 'application'] as const)
      assert.ok(await mayRead(tokens.tokenFor({ role: 'Reader', kind }), db), kind)

    const chain = [randomUUID(), randomUUID(), randomUUID()]
    for (const id of chain)
      await database.sql`
        insert into directory_object (tenant_id, id, kind, properties)
        values (${tenantId}, ${id}, 'group', '{"displayName":"Nested","securityEnabled":true}')`
    for (const [container, member] of [
      [chain[0], chain[1]],
      [chain[1], chain[2]],
      [chain[2], tokens.shared.user],
    ])
      await database.sql`
        insert into member_edge (tenant_id, container_id, member_id) values (${tenantId}, ${container}, ${member})`
    const token = tokens.tokenFor({ permissions: ['user_impersonation'] })
    assert.ok(!(await mayRead(token, db)))
    await database.sql`
      insert into role_assignment (id, tenant_id, scope, shown_scope, role, principal_id)
      values (${randomUUID()}, ${tenantId}, ${db.toLowerCase()}, ${db}, 'Reader', ${chain[0]})`
    assert.ok(await mayRead(token, db))
    await database.sql`delete from member_edge where tenant_id = ${tenantId} and container_id = ${chain[1]}`
    assert.ok(!(await mayRead(token, db)))
  },
)

clause(
  'MASK-89',
  'The roles are `Owner`, `Contributor`, `SQL Security Manager` and `Reader`; `Reader` may read masking and not write it, and the other three may do both.',
  async () => {
    for (const role of ['Owner', 'Contributor', 'SQL Security Manager', 'Reader'] as const) {
      const db = freshDatabase()
      const token = service().tokenFor({ role })
      const expected = role === 'Reader' ? 403 : undefined
      const rule = { properties: emailRule }
      assert.equal(await statusOf(token, 'GET', rulesUrl(db)), 200, role)
      assert.equal(await statusOf(token, 'GET', policyUrl(db)), 200, role)
      assert.equal(await statusOf(token, 'PUT', ruleUrl(db, 'r'), rule), expected ?? 201, role)
      assert.equal(await statusOf(token, 'DELETE', ruleUrl(db, 'r')), expected ?? 200, role)
      const policy = { properties: { dataMaskingState: 'Enabled' } }
      assert.equal(await statusOf(token, 'PUT', policyUrl(db), policy), expected ?? 200, role)

      // A binding makes the service connect to a place of the caller's choice.
      const mayBind = role === 'Owner' || role === 'Contributor'
      assert.equal(await statusOf(token, 'PUT', db, {}), mayBind ? 201 : 403, role)
      const assignment = `${db}/providers/Vendor.Authorization/roleAssignments/${randomUUID()}`
      const grant = { properties: { principalId: service().tokens.shared.user, roleName: 'Reader' } }
      assert.equal(await statusOf(token, 'PUT', assignment, grant), role === 'Owner' ? 201 : 403, role)
    }
  },
)
