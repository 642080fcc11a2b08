import { Type } from 'typebox'
import { ok } from '../../api/operation.ts'
import { isWithin } from '../../auth/role-assignments.ts'
import { fail } from '../../kernel/problem.ts'
import { authorizationApiVersions, namespaceOfRequest, operation } from '../operation.ts'
import { scopeOf } from '../place.ts'
import {
  type RoleAssignment,
  readScope,
  renderRoleAssignment,
  roleAssignmentAnswer,
  scopePaths,
  selectRoleAssignments,
} from './role-assignment.ts'

export const listRoleAssignments = operation({
  name: 'listRoleAssignments',
  clause: 'MASK-87',
  summary: 'List the role assignments that count at a scope, and those below it',
  method: 'GET',
  path: scopePaths,
  apiVersions: authorizationApiVersions,
  permission: { action: 'Vendor.Authorization/roleAssignments/read', scope: scopeOf },
  query: Type.Object({ $filter: Type.Optional(Type.String()) }),
  answers: { 200: Type.Object({ value: Type.Array(roleAssignmentAnswer) }) },

  async run({ params, query, caller, tx, request, ports }) {
    const { scope } = readScope(params)
    const isWanted = readFilter(query.$filter)
    const namespace = namespaceOfRequest({ request, ports })
    const all = await selectRoleAssignments(tx, caller.tenantId)
    const shown = all.filter(
      (assignment) =>
        (isWithin(scope, assignment.scope) || isWithin(assignment.scope, scope)) &&
        isWanted(assignment, scope),
    )
    const principals = [...new Set(shown.map(({ principalId }) => principalId))]
    const types = await ports.principals.find(caller.tenantId, principals)
    const value = shown.map((assignment) => renderRoleAssignment(assignment, types, namespace))
    return ok({ value })
  },
})

type Filter = (assignment: RoleAssignment, scope: string) => boolean

/** The filters of the original service that need no directory. */
function readFilter(filter: string | undefined): Filter {
  if (filter === undefined) return () => true
  if (/^\s*atScope\(\)\s*$/i.test(filter)) return (assignment, scope) => isWithin(scope, assignment.scope)
  const principal = /^\s*principalId\s+eq\s+'([0-9a-f-]{36})'\s*$/i.exec(filter)?.[1]?.toLowerCase()
  if (principal !== undefined) return (assignment) => assignment.principalId === principal
  return fail('InvalidQueryOption', {
    option: '$filter',
    reason: "must be atScope() or principalId eq '{id}'",
  })
}
