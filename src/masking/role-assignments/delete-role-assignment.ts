import { noContent, ok } from '../../api/operation.ts'
import type { Query } from '../../db/query.ts'
import { fail } from '../../kernel/problem.ts'
import { authorizationApiVersions, namespaceOfRequest, operation, type Principals } from '../operation.ts'
import { canonicalNamespace, scopeOf } from '../place.ts'
import {
  findRoleAssignment,
  readRoleAssignmentName,
  readScope,
  renderRoleAssignment,
  roleAssignmentAnswer,
  roleAssignmentTarget,
  scopePaths,
} from './role-assignment.ts'

const action = 'Vendor.Authorization/roleAssignments/delete'

export const deleteRoleAssignment = operation({
  name: 'deleteRoleAssignment',
  clause: 'MASK-87',
  summary: 'Delete a role assignment; 204 when there was none',
  method: 'DELETE',
  path: scopePaths.map((path) => `${path}/:roleAssignmentName`),
  apiVersions: authorizationApiVersions,
  permission: { action, scope: scopeOf },
  answers: { 200: roleAssignmentAnswer, 204: null },

  async run({ params, caller, tx, request, ports, audit }) {
    const { tenantId } = caller
    const { scope } = readScope(params)
    const id = readRoleAssignmentName(params)
    if (scope === '/') await keepOneOwner(tx, tenantId, id, ports.principals)
    const assignment = await findRoleAssignment(tx, tenantId, id)
    if (assignment?.scope !== scope) return noContent
    await tx`delete from role_assignment where tenant_id = ${tenantId} and id = ${id}`
    const types = await ports.principals.find(tenantId, [assignment.principalId])
    audit({
      action,
      target: roleAssignmentTarget(assignment),
      before: renderRoleAssignment(assignment, types, canonicalNamespace),
    })
    return ok(renderRoleAssignment(assignment, types, namespaceOfRequest({ request, ports })))
  },
})

/** Locks all Owners of `/`, so that the last two cannot remove each other at the same moment. */
async function keepOneOwner(tx: Query, tenantId: string, id: string, principals: Principals): Promise<void> {
  const owners = await tx<{ id: string; principalId: string }[]>`
    select id, principal_id as "principalId" from role_assignment
    where tenant_id = ${tenantId} and scope = '/' and role = 'Owner' order by id for update`
  if (!owners.some((owner) => owner.id === id)) return
  const others = owners.filter((owner) => owner.id !== id).map(({ principalId }) => principalId)
  if ((await principals.find(tenantId, others)).size > 0) return
  fail('Conflict', { reason: "The last Owner at '/' cannot be removed. Make another one first." })
}
