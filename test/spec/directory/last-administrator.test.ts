import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { beforeEach } from 'node:test'
import { directoryRoleTemplates } from '../../../src/auth/directory-roles.ts'
import { knownPermissions } from '../../../src/auth/known-permissions.ts'
import { clause } from '../../support/clause.ts'
import { fillDirectory } from '../../support/directory.ts'
import { addApplication } from '../../support/issuer.ts'
import { useMasking } from '../../support/masking.ts'
import { overlap } from '../../support/overlapping-writes.ts'
import type { TestResponse } from '../../support/service.ts'

const { service } = useMasking()
const directory = () => fillDirectory(service())
const all = Object.keys(knownPermissions)
const ask = (method: string, path: string, body?: unknown) =>
  service().request(method, `/v1.0${path}`, {
    token: service().tokenFor({ kind: 'application', permissions: all }),
    ...(body !== undefined && { body }),
  })
let role: string

beforeEach(async () => {
  const { database, tenantId } = service()
  const rows = await database.sql<{ id: string }[]>`
    select id from directory_object where tenant_id = ${tenantId} and kind = 'directoryRole'
      and properties ->> 'roleTemplateId' = ${directoryRoleTemplates['Global Administrator']}`
  role = rows[0]?.id ?? ''
  await database.sql`delete from member_edge where tenant_id = ${tenantId} and container_id = ${role}`
})

const administrator = async (): Promise<string> => {
  const id = await directory().user()
  await directory().join(id, role)
  return id
}
/** Makes the principal Owner at `/`, and returns the id of the role assignment. */
const own = async (principalId: string): Promise<string> => {
  const { database, tenantId } = service()
  const id = randomUUID()
  await database.sql`
    insert into role_assignment (id, tenant_id, scope, shown_scope, role, principal_id)
    values (${id}, ${tenantId}, '/', '/', 'Owner', ${principalId})`
  return id
}
const refuse = async (method: string, path: string, body?: unknown) => {
  const answer = await ask(method, path, body)
  assert.equal(answer.status, 400, `${method} ${path}: ${answer.text}`)
  assert.equal(answer.body.error.code, 'Request_BadRequest')
  assert.match(answer.body.error.message, /^The change would leave no enabled /)
}
const allow = async (method: string, path: string, body?: unknown) => {
  const answer = await ask(method, path, body)
  assert.ok(answer.status < 300, `${method} ${path}: ${answer.text}`)
}

clause(
  'DIR-160',
  'No write leaves the directory without an enabled Global Administrator or masking without an enabled Owner at `/`: …',
  async (t) => {
    await t.test('the user', async () => {
      const [first, second] = [await administrator(), await administrator()]
      await allow('PATCH', `/users/${second}`, { accountEnabled: false })
      await refuse('DELETE', `/users/${first}`)
      await refuse('DELETE', `/directoryObjects/${first}`)
      await refuse('PATCH', `/users/${first}`, { accountEnabled: false })
      await refuse('DELETE', `/directoryRoles/${role}/members/${first}/$ref`)
      await allow('PATCH', `/users/${first}`, { city: 'Ghent' })
      await allow('PATCH', `/users/${second}`, { accountEnabled: true })
      await allow('DELETE', `/users/${first}`)
      await allow('DELETE', `/directory/deletedItems/${first}`)
      await refuse('DELETE', `/users/${second}`)
    })
    await t.test('the group', async () => {
      const [group, user] = [await directory().group({ isAssignableToRole: true }), await directory().user()]
      await directory().join(group, role)
      await directory().join(user, group)
      await refuse('DELETE', `/groups/${group}`)
      await refuse('DELETE', `/groups/${group}/members/${user}/$ref`)
      await refuse('DELETE', `/directoryRoles/${role}/members/${group}/$ref`)
      await refuse('DELETE', `/users/${user}`)
      await administrator()
      await allow('DELETE', `/groups/${group}`)
    })
    await t.test('two callers at the same time', async () => {
      for (let round = 0; round < 5; round++) {
        await service().database.sql`delete from member_edge where container_id = ${role}`
        const [first, second] = [await administrator(), await administrator()]
        const answers = await Promise.all([
          ask('DELETE', `/users/${first}`),
          round % 2 === 0
            ? ask('DELETE', `/directoryRoles/${role}/members/${second}/$ref`)
            : ask('PATCH', `/users/${second}`, { accountEnabled: false }),
        ])
        assert.deepEqual(answers.map(({ status }) => status).sort(), [204, 400])
      }
    })
    await t.test('the Owner of masking at /', async () => {
      await administrator()
      const { database } = service()
      await database.sql`delete from role_assignment where scope = '/' and role = 'Owner'`
      const { applicationId, servicePrincipalId } = await addApplication(service())
      const [group, user] = [await directory().group(), await directory().user()]
      await directory().join(user, group)
      await own(group)
      await refuse('DELETE', `/groups/${group}`)
      await refuse('DELETE', `/groups/${group}/members/${user}/$ref`)
      await refuse('DELETE', `/users/${user}`)
      await refuse('PATCH', `/users/${user}`, { accountEnabled: false })
      await own(servicePrincipalId)
      await allow('DELETE', `/groups/${group}`)
      await refuse('DELETE', `/applications/${applicationId}`)
      await refuse('DELETE', `/servicePrincipals/${servicePrincipalId}`)
      await refuse('PATCH', `/servicePrincipals/${servicePrincipalId}`, { accountEnabled: false })
    })
  },
)

clause(
  'DIR-434',
  'DIR-160 holds also while rights are handed over: a person whom one caller disables or deletes while another gives that person, or a group…',
  async (t) => {
    const { database } = service()
    const losses: Readonly<Record<string, (user: string) => Promise<TestResponse>>> = {
      disabled: (user) => ask('PATCH', `/users/${user}`, { accountEnabled: false }),
      deleted: (user) => ask('DELETE', `/users/${user}`),
    }
    for (const [name, lose] of Object.entries(losses))
      for (const way of ['itself', 'by a group'])
        await t.test(`Global Administrator ${way}, ${name}`, async () => {
          await database.sql`delete from member_edge where container_id = ${role}`
          const former = await administrator()
          const user = await directory().user()
          const group = await directory().group({ isAssignableToRole: true })
          if (way !== 'itself') await directory().join(user, group)
          const [lost, taken] = await overlap(
            service(),
            () => lose(user),
            async () => {
              const given = { '@odata.id': `https://x/v1.0/directoryObjects/${user}` }
              // The row of the person orders this one: 404 behind the deletion. Nothing but the lock orders the other.
              if (way === 'itself') await ask('POST', `/directoryRoles/${role}/members/$ref`, given)
              else await directory().join(group, role)
              return await ask('DELETE', `/directoryRoles/${role}/members/${former}/$ref`)
            },
          )
          assert.deepEqual([lost.status, taken.status], [204, 400], taken.text)
        })
    await t.test('Owner at /', async () => {
      await administrator()
      for (const lose of Object.values(losses)) {
        await database.sql`delete from role_assignment where scope = '/' and role = 'Owner'`
        const former = await directory().user()
        const sender = service().tokenFor({ principal: former, permissions: all })
        const held = await own(former)
        const [group, user] = [await directory().group(), await directory().user()]
        await directory().join(user, group)
        const [lost, taken] = await overlap(
          service(),
          () => lose(user),
          async () => {
            await own(group)
            const path = `/providers/Vendor.Authorization/roleAssignments/${held}?api-version=2014-04-01`
            return await service().request('DELETE', path, { token: sender })
          },
        )
        assert.deepEqual([lost.status, taken.status], [204, 409], taken.text)
      }
    })
    await t.test('a service principal without its application', async () => {
      await database.sql`delete from role_assignment where scope = '/' and role = 'Owner'`
      const { applicationId, servicePrincipalId } = await addApplication(service())
      const user = await directory().user()
      for (const principalId of [user, servicePrincipalId]) await own(principalId)
      await allow('DELETE', `/applications/${applicationId}`)
      await allow('POST', `/directory/deletedItems/${servicePrincipalId}/restore`)
      await refuse('PATCH', `/users/${user}`, { accountEnabled: false })
      await allow('POST', `/directory/deletedItems/${applicationId}/restore`)
      await allow('PATCH', `/users/${user}`, { accountEnabled: false })
    })
    await t.test('others at once', async () => {
      await administrator()
      const users = await Promise.all(Array.from({ length: 8 }, () => directory().user()))
      const answers = await Promise.all(
        users.map((user, at) => (at % 2 === 0 ? losses.disabled : losses.deleted)?.(user)),
      )
      assert.deepEqual([...new Set(answers.map((answer) => answer?.status))], [204])
    })
  },
)

clause(
  'MASK-125',
  'An Owner at `/` counts as the last one when no other principal that is Owner there, directly or through a group, is an enabled user or service principal; …',
  async () => {
    const { database } = service()
    await administrator()
    const sender = service().tokenFor({ role: 'Owner' })
    await service().tokens.settled()
    const me = JSON.parse(Buffer.from(sender.split('.')[1] ?? '', 'base64url').toString()).oid
    await database.sql`delete from role_assignment where scope = '/' and role = 'Owner' and principal_id <> ${me}`
    const [mine] = await database.sql<{ id: string }[]>`
      select id from role_assignment where scope = '/' and role = 'Owner' and principal_id = ${me}`
    const [group, user] = [await directory().group(), await directory().user()]
    const remove = (id: string | undefined) =>
      service().request(
        'DELETE',
        `/providers/Vendor.Authorization/roleAssignments/${id}?api-version=2014-04-01`,
        { token: sender },
      )
    const ofGroup = await own(group)
    assert.equal((await remove(mine?.id)).status, 409, 'an empty group is no Owner')
    await directory().join(user, group)
    await database.sql`
      update directory_object set properties = properties || '{"accountEnabled":false}' where id = ${user}`
    assert.equal((await remove(mine?.id)).status, 409, 'a disabled user is no Owner')
    await database.sql`
      update directory_object set properties = properties || '{"accountEnabled":true}' where id = ${user}`
    // One removes the assignment, another the person behind the other assignment.
    const both = await Promise.all([remove(mine?.id), ask('DELETE', `/users/${user}`)])
    const refused = both.map(({ status }) => status).filter((status) => status === 409 || status === 400)
    assert.equal(refused.length, 1, JSON.stringify(both.map(({ status }) => status)))
    assert.ok(ofGroup)
  },
)
