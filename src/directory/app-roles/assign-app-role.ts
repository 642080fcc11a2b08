import { type Static, Type } from 'typebox'
import { type Answer, created } from '../../api/operation.ts'
import { lockRightsToGive } from '../../auth/rights-lock.ts'
import { fail } from '../../kernel/problem.ts'
import { isUuid } from '../../kernel/uuid.ts'
import { findPermission, serviceAppId } from '../applications/api-principal.ts'
import { countHolders } from '../applications/count-holders.ts'
import { grantApplicationPermissions } from '../applications/granted-permissions.ts'
import { joinIds } from '../applications/joined-id.ts'
import type { EntityContext } from '../entities/entity-set.ts'
import { describeWrite, type WriteContext } from '../entities/entity-write.ts'
import { entitySchema } from '../entities/schemas.ts'
import { contextOf, showEntity } from '../entities/show-entity.ts'
import { typedObject } from '../entities/type-names.ts'
import { lockReferences } from '../membership/lock-references.ts'
import { resources } from '../objects/kinds/resources.ts'
import type { DirectoryObject } from '../objects/object-store.ts'
import { operation } from '../operation.ts'
import { beforeWrite } from '../write-rules/before-write.ts'
import { appRoleAssignment, findAssignment } from './app-role-assignments.ts'
import { type Assignable, canHold } from './app-roles.ts'
import { type AssignmentCollection, findHolder } from './collections.ts'

const guid = Type.String({ maxLength: 36 })
const newAssignment = typedObject(['appRoleAssignment'], {
  principalId: guid,
  resourceId: guid,
  appRoleId: guid,
})

export function assignAppRole(collection: AssignmentCollection) {
  const { path, name, side, permissions } = collection
  return operation({
    name: `create${name}`,
    clause: collection.clause,
    summary: 'Give a role of an application to a user, a group or a service principal',
    method: 'POST',
    path,
    permission: { row: permissions.write },
    right: collection.rights,
    body: newAssignment,
    answers: { 201: entitySchema(appRoleAssignment) },
    async run(context): Promise<Answer> {
      const { tx, caller, body, request } = context
      const named = await findHolder(context, collection)
      const { principal, resource, roleId } = await readAssignment(context, body, collection)
      if ((side === 'principal' ? principal : resource).id !== named.id) failField('principalId')
      const key = await store(context, principal, resource, roleId)
      const row = await findAssignment(tx, caller.tenantId, 'principal', principal.id, key)
      if (!row) throw new Error('an assignment that was just made is not there')
      const metadata = `${contextOf(request.baseUrl, 'appRoleAssignments')}/$entity`
      return created({ '@odata.context': metadata, ...showEntity(appRoleAssignment, row) })
    },
  })
}

async function readAssignment(
  { tx, caller: { tenantId } }: EntityContext,
  { principalId, resourceId, appRoleId }: Static<typeof newAssignment>,
  { principals }: AssignmentCollection,
) {
  for (const [name, id] of Object.entries({ principalId, resourceId, appRoleId }))
    if (!isUuid(id)) failField(name)
  const reference = { key: principalId.toLowerCase(), kind: undefined }
  const { container: resource, objects } = await lockReferences(
    tx,
    tenantId,
    resourceId.toLowerCase(),
    [reference],
    'no key update',
    { givesRights: false },
  )
  if (resource?.kind !== 'servicePrincipal') return fail('ObjectNotFound', { id: resourceId })
  const principal = objects[0]
  if (!principal || !principals.includes(principal.kind)) return fail('ObjectNotFound', { id: principalId })
  const roleId = appRoleId.toLowerCase()
  if (!canHold(resource, roleId, principal.kind as Assignable)) failField('appRoleId')
  return { principal, resource, roleId }
}

/** Returns the id of the new assignment. */
async function store(
  context: WriteContext,
  principal: DirectoryObject,
  resource: DirectoryObject,
  roleId: string,
): Promise<string> {
  const isPermission = resource.properties.appId === serviceAppId
  return isPermission
    ? storePermission(context, principal, roleId)
    : storeRole(context, principal, resource, roleId)
}

/** A role of this API is an application permission: it gives what DIR-154 and DIR-162 are about. */
async function storePermission(
  context: WriteContext,
  principal: DirectoryObject,
  roleId: string,
): Promise<string> {
  const { tx, caller, audit } = context
  const permission = findPermission(roleId) ?? failField('appRoleId')
  const present = await tx`
    select from application_permission
    where tenant_id = ${caller.tenantId} and service_principal_id = ${principal.id} and permission = ${permission}`
  if (present.count > 0) fail('PermissionGrantExists')
  await lockRightsToGive(tx)
  await beforeWrite(context, describeWrite('add', principal, { appRoleAssignments: [permission] }))
  await grantApplicationPermissions(tx, caller.tenantId, principal.id, [permission])
  audit({
    action: 'grant permissions',
    target: `/servicePrincipals/${principal.id}`,
    after: { permissions: [permission], holders: await countHolders(tx, caller.tenantId, principal.id) },
  })
  return joinIds(principal.id, roleId)
}

async function storeRole(
  context: WriteContext,
  principal: DirectoryObject,
  resource: DirectoryObject,
  roleId: string,
): Promise<string> {
  const { tx, caller, audit } = context
  // DIR-391: the group may come to carry rights. Both objects are locked by now.
  if (principal.kind === 'group' && resource.properties.appRoleAssignmentRequired === true)
    await lockRightsToGive(tx)
  await beforeWrite(context, describeWrite('add', resource, { appRoleAssignedTo: [principal.id] }))
  const [row] = await tx<{ id: string }[]>`
    insert into app_role_assignment (tenant_id, principal_id, resource_id, app_role_id)
    values (${caller.tenantId}, ${principal.id}, ${resource.id}, ${roleId})
    on conflict on constraint app_role_is_assigned_once do nothing
    returning id`
  if (!row) return fail('PermissionGrantExists')
  audit({
    action: 'grant app role',
    target: `/${resources[principal.kind].set}/${principal.id}`,
    after: { resourceId: resource.id, appRoleId: roleId },
  })
  return row.id
}

function failField(property: string): never {
  return fail('InvalidPropertyValue', { property, resource: appRoleAssignment.noun }, { target: property })
}
