import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { checkOperations } from '../../../src/api/check-operations.ts'
import type { Operation } from '../../../src/api/operation.ts'
import { type Caller, makeCaller } from '../../../src/auth/caller.ts'
import { directoryRoleTemplates } from '../../../src/auth/directory-roles.ts'
import { impliedPermissions, withImplied } from '../../../src/auth/implied-permissions.ts'
import { knownPermissions } from '../../../src/auth/known-permissions.ts'
import { type PermissionRow, parseCell } from '../../../src/auth/permission.ts'
import { holds } from '../../../src/auth/permit.ts'
import {
  permissionTables,
  requireDataLocationRole,
  requireDelegated,
  requireForRoleAssignableGroup,
} from '../../../src/directory/permissions.ts'
import { permissionTable } from '../../support/clause.ts'

const callerWith = (facts: Partial<Caller>): Caller =>
  makeCaller({
    kind: 'delegated',
    personal: false,
    tenantId: '',
    objectId: '',
    applicationId: '',
    permissions: new Set(),
    directoryRoles: new Set(),
    ...facts,
  })

describe('the tables in the code are the tables of the specification', () => {
  for (const [id, table] of Object.entries(permissionTables))
    test(id, () => {
      const rows: Readonly<Record<string, PermissionRow>> = table
      const specified = permissionTable(id)
      assert.deepEqual(Object.keys(rows).sort(), specified.map(({ subject }) => subject).sort())
      for (const { subject, delegated, personal, application } of specified) {
        const row = rows[subject]
        assert.ok(row)
        assert.deepEqual(parseCell(row.delegated), delegated)
        assert.deepEqual(parseCell(row.personal), personal)
        assert.deepEqual(parseCell(row.application), application)
        assert.equal(row.leastPrivileged, id === 'DIR-67' || id === 'DIR-68')
      }
    })
})

test('no permission stands in for one that a row asks for beside it', () => {
  for (const table of Object.values(permissionTables))
    for (const row of Object.values(table) as PermissionRow[])
      for (const alternative of [row.delegated, row.personal, row.application].flatMap(parseCell))
        for (const missing of alternative)
          assert.ok(!withImplied(alternative.filter((name) => name !== missing)).has(missing), missing)
})

test('only permissions that can be granted imply anything, and none implies more than reading about roles', () => {
  for (const [name, implied] of Object.entries(impliedPermissions))
    for (const one of [name, ...implied]) assert.ok(Object.hasOwn(knownPermissions, one), one)
  for (const strong of Object.keys(impliedPermissions)) {
    const held = withImplied([strong])
    for (const guarded of [
      'RoleManagement.ReadWrite.Directory',
      'Application.ReadWrite.All',
      'Directory.AccessAsUser.All',
    ])
      assert.equal(held.has(guarded), strong === guarded, `${strong} and ${guarded}`)
  }
})

test('a name from the prototype of objects implies nothing', () => {
  assert.deepEqual([...withImplied(['constructor', '__proto__'])], ['constructor', '__proto__'])
})

test('extra rules of groups', () => {
  const refused = (run: () => void) => assert.throws(run, { problem: 'InsufficientPrivileges' })
  const plain = callerWith({ permissions: new Set(['Directory.ReadWrite.All', 'Group.ReadWrite.All']) })
  assert.throws(() => requireForRoleAssignableGroup(plain), { problem: 'RightsRequired' })
  requireForRoleAssignableGroup(callerWith({ permissions: new Set(['RoleManagement.ReadWrite.Directory']) }))

  requireDelegated(plain)
  refused(() => requireDelegated(callerWith({ kind: 'application' })))

  refused(() => requireDataLocationRole(plain))
  const named = [
    'User Administrator',
    'Directory Writers',
    'Exchange Administrator',
    'SharePoint Administrator',
  ]
  for (const [name, id] of Object.entries(directoryRoleTemplates)) {
    const caller = callerWith({ directoryRoles: new Set([id]) })
    if (named.includes(name)) requireDataLocationRole(caller)
    else refused(() => requireDataLocationRole(caller))
    refused(() => requireDataLocationRole(callerWith({ ...caller, kind: 'application' })))
  }
})

test('a row that is not supported lets nobody in', () => {
  const row: PermissionRow = {
    delegated: 'Not supported',
    personal: 'Not supported',
    application: 'Not supported',
    leastPrivileged: true,
  }
  const permissions = new Set([...Object.keys(knownPermissions), 'Not supported'])
  for (const kind of ['delegated', 'application'] as const)
    assert.equal(holds(callerWith({ kind, permissions }), row), false)
})

describe('operations and permission rows fit together, or the service does not start', () => {
  const row = { delegated: 'A.B', personal: 'Not supported', application: 'A.B', leastPrivileged: false }
  const make = (permission: unknown) => ({ name: 'x', permission }) as unknown as Operation<never>
  const fails = (
    operations: Operation<never>[],
    tables: Record<string, Record<string, PermissionRow>>,
    what: RegExp,
  ) => assert.throws(() => checkOperations(operations, tables), what)

  test('what fits passes', () => {
    checkOperations([make({ row }), make({ anyRow: [row] }), make({ action: 'a' })], { T: { s: row } })
    checkOperations([make({ anyCaller: 'about the caller alone' })], {})
  })
  test('an operation without a row', () => {
    for (const permission of [
      undefined,
      {},
      { row: undefined },
      { anyRow: [] },
      { anyCaller: '' },
      { action: '' },
    ])
      fails([make(permission)], {}, /x: /)
  })
  test('a row without an operation', () => {
    fails([make({ row: { ...row } })], { T: { s: row } }, /T: no operation uses the row 's'/)
  })
  test('a cell that cannot be read', () => {
    fails([make({ row: { ...row, personal: 'not supported' } })], {}, /is not the name of a permission/)
  })
  test('a write of the directory without a right of the person', () => {
    const write = (right?: unknown) =>
      ({ ...make({ row }), surface: 'directory', method: 'POST', right }) as unknown as Operation<never>
    checkOperations([write('createGroup'), write(['updateUser', 'resetPassword'])], {})
    fails([write()], {}, /x: no effective right/)
    fails([write([])], {}, /x: no effective right/)
    fails([write('fly')], {}, /x: there is no effective right 'fly'/)
    const read = { ...write('createGroup'), method: 'GET' } as unknown as Operation<never>
    fails([read], {}, /x: a read needs no right/)
  })
})
