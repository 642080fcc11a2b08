import { noContent, type Operation, ok } from '../../api/operation.ts'
import { fail } from '../../kernel/problem.ts'
import { findPermission, serviceAppId } from '../applications/api-principal.ts'
import { revokeApplicationPermissions } from '../applications/granted-permissions.ts'
import type { EntityContext } from '../entities/entity-set.ts'
import { entityQuery } from '../entities/entity-view.ts'
import { describeWrite } from '../entities/entity-write.ts'
import type { Stored } from '../entities/property.ts'
import { entitySchema, listSchema } from '../entities/schemas.ts'
import { contextOf, showEntity } from '../entities/show-entity.ts'
import { resources } from '../objects/kinds/resources.ts'
import { findObject } from '../objects/object-store.ts'
import { listPage, listQuery } from '../odata/list.ts'
import { readSelect } from '../odata/select.ts'
import { type DirectoryPorts, operation } from '../operation.ts'
import { beforeWrite } from '../write-rules/before-write.ts'
import { appRoleAssignment, assignmentSource, findAssignment } from './app-role-assignments.ts'
import { assignAppRole } from './assign-app-role.ts'
import {
  type AssignmentCollection,
  assignmentCollections,
  findHolder,
  ownAssignments,
} from './collections.ts'

const set = 'appRoleAssignments'

function listAssignments(collection: AssignmentCollection) {
  return operation({
    name: collection.name.endsWith('To') ? `list${collection.name}` : `list${collection.name}s`,
    clause: collection.clause,
    summary: 'List which roles of applications were given',
    method: 'GET',
    path: collection.path,
    permission: { row: collection.permissions.read },
    query: listQuery,
    answers: { 200: listSchema(appRoleAssignment) },
    async run(context) {
      const { tx, caller, query, request } = context
      const select = readSelect(query.$select, [appRoleAssignment])
      const { id } = await findHolder(context, collection)
      const source = assignmentSource(tx, caller.tenantId, collection.side, id)
      const page = await listPage<Stored>(tx, request, query, source)
      const body = {
        '@odata.context': contextOf(request.baseUrl, set, select),
        ...page.annotations,
        value: page.rows.map((row) => showEntity(appRoleAssignment, row, { select })),
      }
      return ok(body, page.headers)
    },
  })
}

function getAssignment(collection: AssignmentCollection) {
  return operation({
    name: `get${collection.name}`,
    clause: collection.clause,
    summary: 'Get one assignment of a role of an application',
    method: 'GET',
    path: `${collection.path}/:assignment`,
    permission: { row: collection.permissions.read },
    query: entityQuery,
    answers: { 200: entitySchema(appRoleAssignment) },
    async run(context) {
      const select = readSelect(context.query.$select, [appRoleAssignment])
      const row = await requireAssignment(context, collection)
      const metadata = `${contextOf(context.request.baseUrl, set, select)}/$entity`
      return ok({ '@odata.context': metadata, ...showEntity(appRoleAssignment, row, { select }) })
    },
  })
}

async function requireAssignment(context: EntityContext, collection: AssignmentCollection): Promise<Stored> {
  const { tx, caller, params } = context
  const { id } = await findHolder(context, collection)
  const key = params.assignment ?? ''
  const row = /^[\w-]{36,43}$/.test(key)
    ? await findAssignment(tx, caller.tenantId, collection.side, id, key)
    : undefined
  return row ?? failMissing(context)
}

function failMissing({ params }: EntityContext): never {
  return fail('ObjectNotFound', { id: (params.assignment ?? '').slice(0, 200) })
}

function removeAssignment(collection: AssignmentCollection) {
  return operation({
    name: `delete${collection.name}`,
    clause: collection.clause,
    summary: 'Take a role of an application away',
    method: 'DELETE',
    path: `${collection.path}/:assignment`,
    permission: { row: collection.permissions.write },
    right: collection.rights,
    answers: { 204: null },
    async run(context) {
      const { tx, caller, audit } = context
      const { tenantId } = caller
      const found = await requireAssignment(context, collection)
      const { principalId, resourceId, appRoleId } = found.properties
      const resource = await findObject(tx, tenantId, 'servicePrincipal', String(resourceId), { lock: true })
      const principal = await findObject(tx, tenantId, [], String(principalId))
      if (resource.properties.appId === serviceAppId) {
        const permissions = [findPermission(String(appRoleId)) ?? '']
        await beforeWrite(context, describeWrite('remove', principal, { appRoleAssignments: permissions }))
        const count = await revokeApplicationPermissions(tx, tenantId, principal.id, permissions)
        // The assignment was found before the lock of its resource: another DELETE may have removed it since.
        if (count === 0) failMissing(context)
        const target = `/servicePrincipals/${principal.id}`
        audit({ action: 'revoke permissions', target, before: { permissions } })
      } else {
        await beforeWrite(context, describeWrite('remove', resource, { appRoleAssignedTo: [principal.id] }))
        const { count } =
          await tx`delete from app_role_assignment where tenant_id = ${tenantId} and id = ${found.id}`
        if (count === 0) failMissing(context)
        const target = `/${resources[principal.kind].set}/${principal.id}`
        audit({ action: 'revoke app role', target, before: { resourceId: resource.id, appRoleId } })
      }
      return noContent
    },
  })
}

export const appRoleOperations: readonly Operation<DirectoryPorts>[] = [
  ...assignmentCollections.flatMap((collection) => [
    listAssignments(collection),
    getAssignment(collection),
    assignAppRole(collection),
    removeAssignment(collection),
  ]),
  listAssignments(ownAssignments),
]
