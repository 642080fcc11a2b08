import { type Static, Type } from 'typebox'
import { created, ok } from '../../api/operation.ts'
import { findMaskingRole, type MaskingRole } from '../../auth/masking-roles.ts'
import { lockRightsToGive } from '../../auth/rights-lock.ts'
import { fail } from '../../kernel/problem.ts'
import { isUuid } from '../../kernel/uuid.ts'
import { authorizationApiVersions, operation } from '../operation.ts'
import { scopeOf } from '../place.ts'
import { auditChange, type Site, siteOf } from '../resource.ts'
import { optionalString, strict } from '../schemas.ts'
import { confirmRole } from './confirm-role.ts'
import {
  findRoleAssignment,
  type RoleAssignment,
  readRoleAssignmentName,
  readScope,
  renderRoleAssignment,
  roleAssignmentKind,
  roleDefinitions,
} from './role-assignment.ts'

const action = 'Vendor.Authorization/roleAssignments/write'
const roles = Object.keys(roleDefinitions) as MaskingRole[]

const roleAssignmentInput = Type.Object(
  {
    id: optionalString,
    name: optionalString,
    type: optionalString,
    properties: Type.Object(
      {
        principalId: Type.String(),
        roleDefinitionId: optionalString,
        roleName: optionalString,
        principalType: optionalString,
        scope: optionalString,
        createdOn: optionalString,
        createdBy: optionalString,
      },
      strict,
    ),
  },
  {
    ...strict,
    title: 'newRoleAssignment',
    examples: [{ properties: { principalId: '10000000-0000-4000-8000-000000000001', roleName: 'Reader' } }],
  },
)
type Input = Static<typeof roleAssignmentInput>['properties']

export const createRoleAssignment = operation({
  name: 'createRoleAssignment',
  clause: 'MASK-87',
  summary: 'Assign a role at a scope to a user, group or service principal',
  method: 'PUT',
  path: roleAssignmentKind.path,
  apiVersions: authorizationApiVersions,
  permission: { action, scope: scopeOf },
  body: roleAssignmentInput,
  answers: { 200: roleAssignmentKind.answer, 201: roleAssignmentKind.answer },

  async run(context) {
    const site = siteOf(context)
    const { properties } = context.body
    const place = readScope(site.params)
    const id = readRoleAssignmentName(site.params)
    const role = readRole(properties)
    const principalId = properties.principalId.toLowerCase()
    const { tx, tenantId, ports } = site
    const found = await ports.principals.find(tx, tenantId, isUuid(principalId) ? [principalId] : [])
    const principalType = found.get(principalId) ?? refuseUnknown()
    if (properties.principalType && properties.principalType !== principalType)
      refuse('principalType', `is ${principalType} for that principal`)

    const wanted = { id, ...place, role, principalId, principalType }
    const before = await findRoleAssignment(site)
    if (before) {
      refuseChange(before, wanted)
      return ok(renderRoleAssignment(before, site.namespace))
    }
    // The foreign key would lock it behind the lock of rights, for which the principal's own deletion waits (DIR-356).
    if (!(await ports.principals.hold(tx, tenantId, principalId))) refuseUnknown()
    await confirmRole(site, action)
    await lockRightsToGive(tx)
    const after = await insert(site, wanted, context.caller.objectId)
    auditChange(context.audit, action, renderRoleAssignment, null, after)
    return created(renderRoleAssignment(after, site.namespace))
  },
})

/** By the id of its definition, alone or at the end of a path, which may be under any scope; or by its name. */
function readRole({ roleDefinitionId, roleName }: Input): MaskingRole {
  if (!roleDefinitionId && !roleName) refuse('roleDefinitionId', `or 'properties.roleName' is required`)
  const definition = roleDefinitionId?.toLowerCase().split('/').at(-1)
  const byId = definition && roles.find((role) => roleDefinitions[role] === definition)
  const byName = roleName ? findMaskingRole(roleName) : undefined
  const names = roles.join(', ')
  if (roleDefinitionId && !byId) refuse('roleDefinitionId', `is not the id of one of the roles ${names}`)
  if (roleName && !byName) refuse('roleName', `is not one of ${names}`)
  if (byId && byName && byId !== byName) refuse('roleName', `is not the role that the definition is, ${byId}`)
  return byId || byName || fail('InternalServerError')
}

type Wanted = Omit<RoleAssignment, 'createdAt' | 'createdBy'>

/** An assignment never becomes another: what was granted under an id stays what it was. */
function refuseChange(before: RoleAssignment, { scope, role, principalId }: Wanted): void {
  if (before.scope !== scope || before.role !== role || before.principalId !== principalId)
    fail('Conflict', {
      reason: `The id '${before.id}' is that of another role assignment. Delete it, or use another id.`,
    })
}

async function insert(site: Site, wanted: Wanted, createdBy: string): Promise<RoleAssignment> {
  const { tx, tenantId, ports, caller } = site
  const byRootOwner = await ports.mayAct(tx, caller, action, '/')
  const { id, scope, shownScope, role, principalId } = wanted
  const rows = await tx<{ createdAt: Date }[]>`
    insert into role_assignment (id, tenant_id, scope, shown_scope, role, principal_id, created_by, by_root_owner)
    values (${id}, ${tenantId}, ${scope}, ${shownScope}, ${role}, ${principalId}, ${createdBy}, ${byRootOwner})
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

function refuseUnknown(): never {
  return refuse('principalId', `names no user, group or service principal of the directory`)
}

function refuse(field: string, reason: string): never {
  const target = `properties.${field}`
  fail('InvalidRoleAssignment', { reason: `'${target}' ${reason}.` }, { target })
}
