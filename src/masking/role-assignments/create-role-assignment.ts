import { type Static, Type } from 'typebox'
import { created, ok } from '../../api/operation.ts'
import type { MaskingRole } from '../../auth/masking-roles.ts'
import type { Query } from '../../db/query.ts'
import { fail } from '../../kernel/problem.ts'
import { isUuid } from '../../kernel/uuid.ts'
import { authorizationApiVersions, namespaceOfRequest, operation } from '../operation.ts'
import { canonicalNamespace, scopeOf } from '../place.ts'
import { nullableString } from '../rules/rule.ts'
import {
  findRoleAssignment,
  type RoleAssignment,
  readRoleAssignmentName,
  readScope,
  renderRoleAssignment,
  roleAssignmentAnswer,
  roleAssignmentTarget,
  scopePaths,
} from './role-assignment.ts'
import { roleNames, roleOfDefinition, roleOfName } from './role-definitions.ts'

const action = 'Vendor.Authorization/roleAssignments/write'
const strict = { additionalProperties: false }
const optional = Type.Optional(nullableString)

const roleAssignmentInput = Type.Object(
  {
    id: optional,
    name: optional,
    type: optional,
    properties: Type.Object(
      {
        principalId: Type.String(),
        roleDefinitionId: optional,
        roleName: optional,
        principalType: optional,
        scope: optional,
        createdOn: optional,
        createdBy: optional,
      },
      strict,
    ),
  },
  strict,
)
type Input = Static<typeof roleAssignmentInput>['properties']

export const createRoleAssignment = operation({
  name: 'createRoleAssignment',
  clause: 'MASK-87',
  summary: 'Assign a role at a scope to a user, group or service principal',
  method: 'PUT',
  path: scopePaths.map((path) => `${path}/:roleAssignmentName`),
  apiVersions: authorizationApiVersions,
  permission: { action, scope: scopeOf },
  body: roleAssignmentInput,
  answers: { 200: roleAssignmentAnswer, 201: roleAssignmentAnswer },

  async run({ params, body, caller, tx, request, ports, audit }) {
    const { tenantId } = caller
    const { scope, shownScope } = readScope(params)
    const id = readRoleAssignmentName(params)
    const role = readRole(body.properties)
    const principalId = body.properties.principalId.toLowerCase()
    const found = await ports.principals.find(tenantId, isUuid(principalId) ? [principalId] : [])
    const principalType = found.get(principalId)
    if (!principalType) refuse('principalId', `names no user, group or service principal of the directory`)
    if (body.properties.principalType && body.properties.principalType !== principalType)
      refuse('principalType', `is ${principalType} for that principal`)
    const namespace = namespaceOfRequest({ request, ports })

    const wanted = { id, scope, shownScope, role, principalId }
    const before = await findRoleAssignment(tx, tenantId, id)
    if (before) {
      refuseChange(before, wanted)
      return ok(renderRoleAssignment(before, found, namespace))
    }
    const after = await insert(tx, tenantId, wanted, caller.objectId)
    audit({
      action,
      target: roleAssignmentTarget(after),
      after: renderRoleAssignment(after, found, canonicalNamespace),
    })
    return created(renderRoleAssignment(after, found, namespace))
  },
})

function readRole({ roleDefinitionId, roleName }: Input): MaskingRole {
  if (!roleDefinitionId && !roleName) refuse('roleDefinitionId', `or 'properties.roleName' is required`)
  const byId = roleDefinitionId ? roleOfDefinition(roleDefinitionId) : undefined
  const byName = roleName ? roleOfName(roleName) : undefined
  if (roleDefinitionId && !byId) refuse('roleDefinitionId', `is not the id of one of the roles ${roleNames}`)
  if (roleName && !byName) refuse('roleName', `is not one of ${roleNames}`)
  if (byId && byName && byId !== byName) refuse('roleName', `is not the role that the definition is, ${byId}`)
  return byId ?? byName ?? fail('InternalServerError')
}

type Wanted = Pick<RoleAssignment, 'id' | 'scope' | 'shownScope' | 'role' | 'principalId'>

/** An assignment never becomes another: what was granted under an id stays what it was. */
function refuseChange(before: RoleAssignment, { scope, role, principalId }: Wanted): void {
  if (before.scope !== scope || before.role !== role || before.principalId !== principalId)
    fail('Conflict', {
      reason: `The id '${before.id}' is that of another role assignment. Delete it, or use another id.`,
    })
}

async function insert(
  tx: Query,
  tenantId: string,
  wanted: Wanted,
  createdBy: string,
): Promise<RoleAssignment> {
  const { id, scope, shownScope, role, principalId } = wanted
  const rows = await tx<{ createdAt: Date }[]>`
    insert into role_assignment (id, tenant_id, scope, shown_scope, role, principal_id, created_by)
    values (${id}, ${tenantId}, ${scope}, ${shownScope}, ${role}, ${principalId}, ${createdBy})
    on conflict do nothing returning created_at as "createdAt"`
  const [row] = rows
  if (row) return { ...wanted, createdAt: row.createdAt, createdBy }
  const [other] = await tx<{ id: string }[]>`
    select id from role_assignment
    where tenant_id = ${tenantId} and scope = ${scope} and role = ${role} and principal_id = ${principalId}`
  return fail('Conflict', {
    reason: other
      ? `The principal has this role at this scope already, by the role assignment '${other.id}'.`
      : 'The role assignment was changed meanwhile. Send the request again.',
  })
}

function refuse(field: string, reason: string): never {
  const target = `properties.${field}`
  fail('InvalidRoleAssignment', { reason: `'${target}' ${reason}.` }, { target })
}
