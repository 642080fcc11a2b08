import assert from 'node:assert/strict'
import { test } from 'node:test'
import { findMaskingRole, roleAllows } from '../../../src/auth/masking-roles.ts'
import { encodeScopeSegment, isWithin, normalizeScope } from '../../../src/auth/role-assignments.ts'

test('scopes are compared without case, slash at the end or the name of the provider', () => {
  for (const root of ['', '/', '//']) assert.equal(normalizeScope(root), '/')
  assert.equal(normalizeScope('/Subscriptions/S/'), '/subscriptions/s')
  const server = '/subscriptions/s/resourcegroups/g/providers/vendor.sql/servers/v'
  assert.equal(normalizeScope('/subscriptions/s/resourceGroups/g/providers/Vendor.Sql/servers/V'), server)
  assert.equal(normalizeScope('/subscriptions/s/resourceGroups/g/providers/Microsoft.Sql/servers/v'), server)
  assert.equal(
    normalizeScope('/subscriptions/s/resourceGroups/providers/x'),
    '/subscriptions/s/resourcegroups/providers/x',
  )
  const named = '/subscriptions/providers/resourcegroups/servers'
  assert.equal(normalizeScope(named), named)
  assert.equal(
    normalizeScope(`${named}/providers/Microsoft.Sql/servers/v`),
    `${named}/providers/vendor.sql/servers/v`,
  )
})

test('an assignment covers what is below it, by whole segments', () => {
  assert.ok(isWithin('/a/b/c', '/'))
  assert.ok(isWithin('/a/b/c', '/a/b'))
  assert.ok(isWithin('/a/b', '/a/b'))
  for (const beside of ['/a/bc', '/a', '/', '/x/a/b']) assert.ok(!isWithin(beside, '/a/b'), beside)
})

test('a name with a slash in it is one segment', () => {
  assert.equal(encodeScopeSegment('plain name.1'), 'plain name.1')
  assert.equal(encodeScopeSegment('g/providers/x'), 'g%2Fproviders%2Fx')
  assert.notEqual(encodeScopeSegment('a%2Fb'), encodeScopeSegment('a/b'))
})

test('roles allow what their patterns cover', () => {
  const rules = 'Vendor.Sql/servers/databases/dataMaskingPolicies/rules'
  const roles = 'Vendor.Authorization/roleAssignments'
  const allowed = {
    Owner: [
      `${rules}/read`,
      `${rules}/write`,
      `${roles}/read`,
      `${roles}/write`,
      `${roles}/delete`,
      'Vendor.Sql/servers/write',
    ],
    Contributor: [`${rules}/read`, `${rules}/write`, `${roles}/read`, 'Vendor.Sql/servers/write'],
    'SQL Security Manager': [`${rules}/read`, `${rules}/write`, `${roles}/read`],
    Reader: [`${rules}/read`, `${roles}/read`],
  } as const
  for (const [name, actions] of Object.entries(allowed)) {
    const role = findMaskingRole(name.toUpperCase())
    assert.ok(role)
    for (const action of allowed.Owner) {
      assert.equal(
        roleAllows(role, action),
        (actions as readonly string[]).includes(action),
        `${name} ${action}`,
      )
      assert.equal(roleAllows(role, action.toUpperCase()), roleAllows(role, action))
    }
  }
  assert.ok(!roleAllows('Reader', 'Vendor.Sql/servers/read/write'))
  assert.ok(!roleAllows('SQL Security Manager', 'VendorXSql/servers/read'), 'a dot is a dot')
  for (const nobody of ['', 'Admin', 'constructor', 'Own']) assert.equal(findMaskingRole(nobody), undefined)
})
