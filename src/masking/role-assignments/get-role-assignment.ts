import { ok } from '../../api/operation.ts'
import { fail } from '../../kernel/problem.ts'
import { authorizationApiVersions, namespaceOfRequest, operation } from '../operation.ts'
import { scopeOf } from '../place.ts'
import {
  findRoleAssignment,
  readRoleAssignmentName,
  readScope,
  renderRoleAssignment,
  roleAssignmentAnswer,
  scopePaths,
} from './role-assignment.ts'

export const getRoleAssignment = operation({
  name: 'getRoleAssignment',
  clause: 'MASK-87',
  summary: 'Get one role assignment',
  method: 'GET',
  path: scopePaths.map((path) => `${path}/:roleAssignmentName`),
  apiVersions: authorizationApiVersions,
  permission: { action: 'Vendor.Authorization/roleAssignments/read', scope: scopeOf },
  answers: { 200: roleAssignmentAnswer },

  async run({ params, caller, tx, request, ports }) {
    const { scope } = readScope(params)
    const assignment = await findRoleAssignment(tx, caller.tenantId, readRoleAssignmentName(params))
    if (assignment?.scope !== scope) fail('ResourceNotFound', { id: request.path })
    const types = await ports.principals.find(caller.tenantId, [assignment.principalId])
    return ok(renderRoleAssignment(assignment, types, namespaceOfRequest({ request, ports })))
  },
})
