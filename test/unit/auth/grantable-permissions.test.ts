import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Caller, makeCaller } from '../../../src/auth/caller.ts'
import { type DirectoryRole, directoryRoleTemplates } from '../../../src/auth/directory-roles.ts'
import { holdsAnyRole } from '../../../src/auth/effective-rights.ts'
import { matchesConsent, matchesPermission, mayGrantRights } from '../../../src/auth/grantable-permissions.ts'
import { knownPermissions } from '../../../src/auth/known-permissions.ts'

const make = (kind: Caller['kind'], permissions: readonly string[], roles: readonly DirectoryRole[] = []) =>
  makeCaller({
    kind,
    personal: false,
    tenantId: '',
    objectId: '',
    applicationId: '',
    permissions: new Set(permissions),
    directoryRoles: new Set(roles.map((role) => directoryRoleTemplates[role])),
  })
const all = Object.keys(knownPermissions)
const strongest = [
  'AppRoleAssignment.ReadWrite.All',
  'DelegatedPermissionGrant.ReadWrite.All',
  'RoleManagement.ReadWrite.Directory',
]

test('no set of other permissions matches one of the strongest', () => {
  for (const permission of strongest) {
    const others = make(
      'application',
      all.filter((name) => !strongest.includes(name)),
    )
    assert.equal(matchesPermission(others, permission), false, permission)
    assert.equal(matchesConsent(others, permission, true), false, permission)
  }
})

test('a person matches nothing by the permissions of the application alone', () => {
  const person = make('delegated', all)
  for (const permission of all) assert.equal(matchesPermission(person, permission), false, permission)
  assert.equal(mayGrantRights(person), false)
  const weakClient = make('delegated', ['Application.ReadWrite.All'], ['Global Administrator'])
  assert.equal(matchesPermission(weakClient, 'User.ReadWrite.All'), false)
  assert.equal(mayGrantRights(weakClient), false)
  assert.equal(mayGrantRights(make('delegated', all, ['Privileged Role Administrator'])), true)
})

test('an application permission is no match for the consent of people to a write', () => {
  const application = make('application', ['Directory.ReadWrite.All', 'RoleManagement.ReadWrite.Directory'])
  // Implied in some tables and not in others, so that its holder may do more.
  assert.equal(matchesPermission(application, 'Group.ReadWrite.All'), false)
  assert.equal(matchesPermission(application, 'Group.Read.All'), true, 'reads are implied everywhere')
  assert.equal(matchesConsent(application, 'Group.ReadWrite.All', true), false)
  assert.equal(
    matchesConsent(application, 'Group.Read.All', true),
    true,
    'people read no more than applications',
  )
  assert.equal(matchesConsent(application, 'user_impersonation', false), false)
  assert.equal(matchesConsent(application, 'Mail.ReadWrite', false), true, 'people consent by themselves')
  assert.equal(matchesConsent(application, 'Mail.ReadWrite', true), false, 'nobody is asked any more')
})

test('a personal account holds no role, whatever its token claims', () => {
  const caller = { ...make('delegated', all, ['Global Administrator']), personal: true }
  assert.equal(holdsAnyRole(caller, ['Global Administrator']), false)
  assert.equal(
    holdsAnyRole(make('application', all, ['Global Administrator']), ['Global Administrator']),
    false,
  )
})
