import { Type } from 'typebox'
import { noContent, ok } from '../../api/operation.ts'
import type { Caller } from '../../auth/caller.ts'
import { holds } from '../../auth/permit.ts'
import type { Query } from '../../db/query.ts'
import { entitySchema, listSchema, nameOperation } from '../entities/schemas.ts'
import { type Fields, fieldsOf } from '../odata/field.ts'
import { countQuery, countRows, type ListSource, listPage, listQuery } from '../odata/list.ts'
import { readSelect } from '../odata/select.ts'
import { operation } from '../operation.ts'
import { performPurge, performRestoration } from './deletion.ts'
import { entityQuery } from './get-object.ts'
import { application } from './kinds/application.ts'
import { group } from './kinds/group.ts'
import type { ObjectKind, Resource } from './kinds/resource.ts'
import { servicePrincipal } from './kinds/service-principal.ts'
import { user } from './kinds/user.ts'
import { objectPermissions, readDeletedPermissions } from './object-permissions.ts'
import { type DirectoryObject, findObject, objectColumns } from './object-store.ts'
import { contextOf, namespace, renderItem, renderObject } from './render-object.ts'

const restorable: readonly Resource[] = [user, group, application, servicePrincipal]
const rowOf = (kind: ObjectKind, action: 'read' | 'delete') =>
  action === 'read' ? readDeletedPermissions(kind) : objectPermissions[kind].delete
const rows = (action: 'read' | 'delete') => restorable.map(({ kind }) => rowOf(kind, action))
const anyEntity = Type.Union(restorable.map(entitySchema))
const path = '/directory/deletedItems/:id'

/** A deleted object of a kind that the caller may do this with; the others are not there for them. */
function findDeleted(
  { tx, caller, params }: { tx: Query; caller: Caller; params: Readonly<Record<string, string>> },
  action: 'read' | 'delete',
  options: { lock?: true } = {},
): Promise<DirectoryObject> {
  const kinds = restorable.map(({ kind }) => kind).filter((kind) => holds(caller, rowOf(kind, action)))
  return findObject(tx, caller.tenantId, kinds, params.id ?? '', { deleted: true, ...options })
}

const getDeletedItem = operation({
  name: 'getDeletedItem',
  clause: 'DIR-134',
  summary: 'Get a deleted object that can be restored',
  method: 'GET',
  path,
  permission: { anyRow: rows('read') },
  query: entityQuery,
  answers: { 200: anyEntity },
  async run(context) {
    const select = readSelect(context.query.$select, restorable)
    const object = await findDeleted(context, 'read')
    return ok(renderObject(object, context.request.baseUrl, { set: 'directoryObjects', typed: true, select }))
  },
})

const restoreDeletedItem = operation({
  name: 'restoreDeletedItem',
  clause: 'DIR-134',
  summary: 'Restore a deleted object with its memberships',
  method: 'POST',
  path: `${path}/restore`,
  permission: { anyRow: rows('delete') },
  answers: { 200: anyEntity },
  async run(context) {
    const object = await findDeleted(context, 'delete', { lock: true })
    const restored = await performRestoration(context, object)
    return ok(renderObject(restored, context.request.baseUrl, { set: 'directoryObjects', typed: true }))
  },
})

const purgeDeletedItem = operation({
  name: 'purgeDeletedItem',
  clause: 'DIR-134',
  summary: 'Delete a deleted object for good',
  method: 'DELETE',
  path,
  permission: { anyRow: rows('delete') },
  answers: { 204: null },
  async run(context) {
    await performPurge(context, await findDeleted(context, 'delete', { lock: true }))
    return noContent
  },
})

function listDeleted(resource: Resource) {
  const fields = fieldsOf([resource])
  return operation({
    name: nameOperation('listDeleted', resource.set),
    clause: 'DIR-134',
    summary: `List deleted ${resource.set}`,
    method: 'GET',
    path: castPaths(resource),
    permission: { row: readDeletedPermissions(resource.kind) },
    query: listQuery,
    answers: { 200: listSchema(resource) },
    async run({ tx, caller, query, request }) {
      const select = readSelect(query.$select, [resource])
      const source = deletedOf(tx, caller.tenantId, resource, fields)
      const page = await listPage<DirectoryObject>(tx, request, query, source)
      return ok({
        '@odata.context': contextOf(request.baseUrl, resource.set, select),
        ...page.annotations,
        value: page.rows.map((object) => renderItem(object, { select })),
      })
    },
  })
}

function countDeleted(resource: Resource) {
  const fields = fieldsOf([resource])
  return operation({
    name: nameOperation('countDeleted', resource.set),
    clause: 'DIR-139',
    summary: `Count deleted ${resource.set}`,
    method: 'GET',
    path: castPaths(resource).map((cast) => `${cast}/$count`),
    permission: { row: readDeletedPermissions(resource.kind) },
    query: countQuery,
    answers: { 200: Type.Integer() },
    async run({ tx, caller, query }) {
      const source = deletedOf(tx, caller.tenantId, resource, fields)
      return ok(String(await countRows(tx, query, source)), { 'content-type': 'text/plain' })
    },
  })
}

function castPaths({ kind }: Resource): string[] {
  return [namespace, 'microsoft.graph', 'graph'].map((name) => `/directory/deletedItems/${name}.${kind}`)
}

function deletedOf(tx: Query, tenantId: string, { kind }: Resource, fields: Fields): ListSource {
  return {
    columns: objectColumns(tx),
    from: tx`directory_object o`,
    where: tx`o.tenant_id = ${tenantId} and o.kind = ${kind} and o.deleted_at is not null`,
    id: 'o.id',
    fields,
    type: `${namespace}.${kind}`,
  }
}

export const deletedItemOperations = [
  ...restorable.flatMap((resource) => [listDeleted(resource), countDeleted(resource)]),
  getDeletedItem,
  restoreDeletedItem,
  purgeDeletedItem,
]
