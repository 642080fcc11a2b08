import { type Static, Type } from 'typebox'
import type { MaskingRole } from '../../auth/masking-roles.ts'
import type { Params } from '../../auth/permission.ts'
import { normalizeScope } from '../../auth/role-assignments.ts'
import type { Query } from '../../db/query.ts'
import { fail } from '../../kernel/problem.ts'
import { isUuid } from '../../kernel/uuid.ts'
import { authorizationOf } from '../namespace.ts'
import type { PrincipalType } from '../operation.ts'
import { canonicalNamespace, checkName, databasePath, scopeOf, serverPath } from '../place.ts'
import { definitionOf } from './role-definitions.ts'

/** Everything a role can be assigned at. */
export const scopePaths = [
  '',
  '/subscriptions/:subscriptionId',
  '/subscriptions/:subscriptionId/resourceGroups/:resourceGroupName',
  serverPath,
  databasePath,
].map((scope) => `${scope}/providers/Vendor.Authorization/roleAssignments`)

export interface RoleAssignment {
  readonly id: string
  readonly scope: string
  readonly shownScope: string
  readonly role: MaskingRole
  readonly principalId: string
  readonly createdAt: Date
  readonly createdBy: string | null
}

export const roleAssignmentAnswer = Type.Object({
  id: Type.String(),
  name: Type.String(),
  type: Type.String(),
  properties: Type.Object({
    roleDefinitionId: Type.String(),
    roleName: Type.String(),
    principalId: Type.String(),
    principalType: Type.Unsafe<string | null>({ type: ['string', 'null'] }),
    scope: Type.String(),
    createdOn: Type.String(),
    createdBy: Type.Unsafe<string | null>({ type: ['string', 'null'] }),
  }),
})

const columns = (tx: Query) => tx`
  id, scope, shown_scope as "shownScope", role, principal_id as "principalId", created_at as "createdAt",
  created_by as "createdBy"`

/** Its names are checked, so that no scope reads like another. */
export function readScope(params: Params): { scope: string; shownScope: string } {
  const { roleAssignmentName: _, ...place } = params
  for (const parameter of Object.keys(place)) checkName(place, parameter)
  const shownScope = scopeOf(place)
  return { scope: normalizeScope(shownScope), shownScope }
}

export function readRoleAssignmentName(params: Params): string {
  const parameter = 'roleAssignmentName'
  const name = params[parameter] ?? ''
  if (!isUuid(name))
    fail('InvalidResourceName', { parameter, reason: 'it must be a UUID' }, { target: parameter })
  return name.toLowerCase()
}

/** By its id alone: an id is given once, at whatever scope. */
export async function findRoleAssignment(
  tx: Query,
  tenantId: string,
  id: string,
): Promise<RoleAssignment | null> {
  const [row] = await tx<RoleAssignment[]>`
    select ${columns(tx)} from role_assignment where tenant_id = ${tenantId} and id = ${id}`
  return row ?? null
}

export async function selectRoleAssignments(tx: Query, tenantId: string): Promise<RoleAssignment[]> {
  return await tx<RoleAssignment[]>`
    select ${columns(tx)} from role_assignment where tenant_id = ${tenantId}
    order by scope collate "C", role, created_at, id`
}

export function renderRoleAssignment(
  assignment: RoleAssignment,
  types: ReadonlyMap<string, PrincipalType>,
  namespace: string,
): Static<typeof roleAssignmentAnswer> {
  const authorization = authorizationOf(namespace)
  const scope = assignment.shownScope.replace(`/providers/${canonicalNamespace}/`, `/providers/${namespace}/`)
  const stem = scope === '/' ? '' : scope
  return {
    id: `${stem}/providers/${authorization}/roleAssignments/${assignment.id}`,
    name: assignment.id,
    type: `${authorization}/roleAssignments`,
    properties: {
      roleDefinitionId: definitionOf(assignment.role, authorization),
      roleName: assignment.role,
      principalId: assignment.principalId,
      principalType: types.get(assignment.principalId) ?? null,
      scope,
      createdOn: assignment.createdAt.toISOString(),
      createdBy: assignment.createdBy,
    },
  }
}

export function roleAssignmentTarget({ scope, id }: Pick<RoleAssignment, 'scope' | 'id'>): string {
  return `${scope === '/' ? '' : scope}/providers/vendor.authorization/roleassignments/${id}`
}
