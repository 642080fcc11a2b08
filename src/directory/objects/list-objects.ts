import { Type } from 'typebox'
import { ok } from '../../api/operation.ts'
import type { Query } from '../../db/query.ts'
import { listSchema, nameOperation } from '../entities/schemas.ts'
import { expandOption, readExpansion } from '../extensions/expand-extensions.ts'
import { type Fields, fieldsOf, restrictFields } from '../odata/field.ts'
import { countQuery, countRows, type ListSource, listPage, searchableQuery } from '../odata/list.ts'
import { readSelect } from '../odata/select.ts'
import { operation } from '../operation.ts'
import { expandable, showExpanded } from './expand.ts'
import type { Resource } from './kinds/resource.ts'
import { objectPermissions, readableProperties } from './object-permissions.ts'
import { type DirectoryObject, objectColumns } from './object-store.ts'
import { contextOf, namespace, renderItem } from './render-object.ts'

const expandableQuery = Type.Object({ ...searchableQuery.properties, $expand: expandOption })

export function listObjects(resource: Resource) {
  const fields = fieldsOf([resource])
  return operation({
    name: nameOperation('list', resource.set),
    clause: 'DIR-134',
    summary: `List ${resource.set}`,
    method: 'GET',
    path: `/${resource.set}`,
    permission: { row: objectPermissions[resource.kind].read },
    query: expandable.has(resource.kind) ? expandableQuery : (searchableQuery as typeof expandableQuery),
    answers: { 200: listSchema(resource) },
    async run(context) {
      const { tx, caller, query, request } = context
      const expand = readExpansion(query.$expand)
      const select = readSelect(query.$select, [resource])
      const readable = readableProperties(caller, resource.kind)
      const source = objectsOf(tx, caller.tenantId, resource, restrictFields(fields, readable))
      const page = await listPage<DirectoryObject>(tx, request, query, source)
      return ok({
        '@odata.context': contextOf(request.baseUrl, resource.set, select),
        ...page.annotations,
        value: await showExpanded(
          context,
          expand,
          page.rows.map((object) => renderItem(object, { select, readable })),
          page.rows,
        ),
      })
    },
  })
}

export function countObjects(resource: Resource) {
  const fields = fieldsOf([resource])
  return operation({
    name: nameOperation('count', resource.set),
    clause: 'DIR-139',
    summary: `Count ${resource.set}`,
    method: 'GET',
    path: `/${resource.set}/$count`,
    permission: { row: objectPermissions[resource.kind].read },
    query: countQuery,
    answers: { 200: Type.Integer() },
    async run({ tx, caller, query }) {
      const readable = readableProperties(caller, resource.kind)
      const source = objectsOf(tx, caller.tenantId, resource, restrictFields(fields, readable))
      return ok(String(await countRows(tx, query, source)), { 'content-type': 'text/plain' })
    },
  })
}

function objectsOf(tx: Query, tenantId: string, { kind }: Resource, fields: Fields): ListSource {
  return {
    columns: objectColumns(tx),
    from: tx`directory_object o`,
    where: tx`o.tenant_id = ${tenantId} and o.kind = ${kind} and o.deleted_at is null`,
    id: 'o.id',
    fields,
    type: `${namespace}.${kind}`,
  }
}
