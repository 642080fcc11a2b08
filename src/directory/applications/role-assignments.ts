import { Type } from 'typebox'
import { type Answer, created, noContent, ok } from '../../api/operation.ts'
import type { Query } from '../../db/query.ts'
import { fail } from '../../kernel/problem.ts'
import { describeWrite } from '../entities/entity-write.ts'
import { contextOf } from '../entities/show-entity.ts'
import { type DirectoryObject, findObject } from '../objects/object-store.ts'
import { operation } from '../operation.ts'
import { beforeWrite } from '../write-rules/before-write.ts'
import { findPermission, permissionId, serviceAppId } from './api-principal.ts'
import { grantApplicationPermissions, revokeApplicationPermissions } from './granted-permissions.ts'
import { joinIds, splitIds } from './joined-id.ts'
import { roleAssignmentPermissions } from './permissions.ts'

const assignmentSchema = Type.Object({
  id: Type.String(),
  deletedDateTime: Type.Null(),
  appRoleId: Type.String(),
  createdDateTime: Type.String(),
  principalDisplayName: Type.Union([Type.String(), Type.Null()]),
  principalId: Type.String(),
  principalType: Type.String(),
  resourceDisplayName: Type.Union([Type.String(), Type.Null()]),
  resourceId: Type.String(),
})

interface AssignmentRow {
  readonly principal_id: string
  readonly principal_name: string | null
  readonly resource_id: string
  readonly resource_name: string | null
  readonly permission: string
  readonly granted_at: Date
}

function selectAssignments(tx: Query, tenantId: string, side: 'principal' | 'resource', id: string) {
  return tx<AssignmentRow[]>`
    select granted.service_principal_id as principal_id, principal.display_name as principal_name,
      resource.id as resource_id, resource.display_name as resource_name, granted.permission, granted.granted_at
    from application_permission granted
    join directory_object principal
      on principal.tenant_id = granted.tenant_id and principal.id = granted.service_principal_id
    join directory_object resource
      on resource.tenant_id = granted.tenant_id and resource.kind = 'servicePrincipal'
      and resource.app_id = ${serviceAppId} and resource.deleted_at is null
    where granted.tenant_id = ${tenantId} and principal.deleted_at is null
      and ${side === 'principal' ? tx`principal.id = ${id}` : tx`resource.id = ${id}`}
    order by granted.service_principal_id, granted.permission`
}

function render(row: AssignmentRow) {
  const appRoleId = permissionId(row.permission)
  return {
    id: joinIds(row.principal_id, appRoleId),
    deletedDateTime: null,
    appRoleId,
    createdDateTime: row.granted_at.toISOString(),
    principalDisplayName: row.principal_name,
    principalId: row.principal_id,
    principalType: 'ServicePrincipal',
    resourceDisplayName: row.resource_name,
    resourceId: row.resource_id,
  }
}

const sides = { appRoleAssignments: 'principal', appRoleAssignedTo: 'resource' } as const
type Collection = keyof typeof sides

function listAssignments(collection: Collection) {
  return operation({
    name: collection === 'appRoleAssignments' ? 'listAppRoleAssignments' : 'listAppRoleAssignedTo',
    clause: 'DIR-150',
    summary: 'List which application permissions were granted',
    method: 'GET',
    path: `/servicePrincipals/:id/${collection}`,
    permission: { row: roleAssignmentPermissions.read },
    answers: { 200: Type.Object({ '@odata.context': Type.String(), value: Type.Array(assignmentSchema) }) },
    async run({ tx, caller: { tenantId }, params, request }) {
      const { id } = await findObject(tx, tenantId, 'servicePrincipal', params.id ?? '')
      const rows = await selectAssignments(tx, tenantId, sides[collection], id)
      const context = contextOf(request.baseUrl, 'appRoleAssignments')
      return ok({ '@odata.context': context, value: rows.map(render) })
    },
  })
}

const guid = Type.String({ maxLength: 36 })

function createAssignment(collection: Collection) {
  return operation({
    name: collection === 'appRoleAssignments' ? 'createAppRoleAssignment' : 'createAppRoleAssignedTo',
    clause: 'DIR-150',
    summary: 'Grant an application permission to a service principal',
    method: 'POST',
    path: `/servicePrincipals/:id/${collection}`,
    permission: { row: roleAssignmentPermissions.write },
    right: 'grantPermissions',
    body: Type.Object(
      { principalId: guid, resourceId: guid, appRoleId: guid },
      { additionalProperties: false },
    ),
    answers: { 201: assignmentSchema },
    async run(context): Promise<Answer> {
      const { tx, caller, params, body, request, audit } = context
      const { tenantId } = caller
      const { principalId, resourceId, appRoleId } = body
      const named = sides[collection] === 'principal' ? principalId : resourceId
      if (named.toLowerCase() !== params.id?.toLowerCase()) failField('principalId')
      const principal = await findObject(tx, tenantId, 'servicePrincipal', principalId, { lock: true })
      const resource = await findObject(tx, tenantId, 'servicePrincipal', resourceId)
      if (resource.properties.appId !== serviceAppId) failField('resourceId')
      const permission = findPermission(appRoleId) ?? failField('appRoleId')
      if (await isGranted(tx, tenantId, principal, permission)) fail('PermissionGrantExists')
      await beforeWrite(context, describeWrite('add', principal, { appRoleAssignments: [permission] }))
      await grantApplicationPermissions(tx, tenantId, principal.id, [permission])
      audit({
        action: 'grant permissions',
        target: `/servicePrincipals/${principal.id}`,
        after: { permissions: [permission] },
      })
      const rows = await selectAssignments(tx, tenantId, 'principal', principal.id)
      const row = rows.find((one) => one.permission === permission)
      if (!row) throw new Error('a granted permission is not there')
      const metadata = `${contextOf(request.baseUrl, 'appRoleAssignments')}/$entity`
      return created({ '@odata.context': metadata, ...render(row) })
    },
  })
}

async function isGranted(tx: Query, tenantId: string, { id }: DirectoryObject, permission: string) {
  const rows = await tx`
    select from application_permission
    where tenant_id = ${tenantId} and service_principal_id = ${id} and permission = ${permission}`
  return rows.count > 0
}

function deleteAssignment(collection: Collection) {
  return operation({
    name: collection === 'appRoleAssignments' ? 'deleteAppRoleAssignment' : 'deleteAppRoleAssignedTo',
    clause: 'DIR-150',
    summary: 'Take an application permission away',
    method: 'DELETE',
    path: `/servicePrincipals/:id/${collection}/:assignment`,
    permission: { row: roleAssignmentPermissions.write },
    right: 'grantPermissions',
    answers: { 204: null },
    async run(context) {
      const { tx, caller, params, audit } = context
      const { tenantId } = caller
      const { id } = await findObject(tx, tenantId, 'servicePrincipal', params.id ?? '')
      const [principalId, roleId] = splitIds(params.assignment ?? '') ?? []
      const rows = await selectAssignments(tx, tenantId, sides[collection], id)
      const row = rows.find(
        ({ principal_id, permission }) => principal_id === principalId && permissionId(permission) === roleId,
      )
      if (!row) return fail('ObjectNotFound', { id: (params.assignment ?? '').slice(0, 200) })
      const principal = await findObject(tx, tenantId, 'servicePrincipal', row.principal_id, { lock: true })
      await beforeWrite(context, describeWrite('remove', principal, { appRoleAssignments: [row.permission] }))
      await revokeApplicationPermissions(tx, tenantId, row.principal_id, [row.permission])
      audit({
        action: 'revoke permissions',
        target: `/servicePrincipals/${row.principal_id}`,
        before: { permissions: [row.permission] },
      })
      return noContent
    },
  })
}

function failField(property: string): never {
  return fail('InvalidPropertyValue', { property, resource: 'AppRoleAssignment' }, { target: property })
}

export const roleAssignmentOperations = (Object.keys(sides) as Collection[]).flatMap((collection) => [
  listAssignments(collection),
  createAssignment(collection),
  deleteAssignment(collection),
])
