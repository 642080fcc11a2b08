import { Type } from 'typebox'
import { noContent, ok } from '../../api/operation.ts'
import { holds } from '../../auth/permit.ts'
import { fail } from '../../kernel/problem.ts'
import { isUuid } from '../../kernel/uuid.ts'
import { readSelect } from '../odata/select.ts'
import { operation } from '../operation.ts'
import { performDeletion } from './deletion.ts'
import { entityQuery } from './get-object.ts'
import type { ObjectKind } from './kinds/resource.ts'
import { isObjectKind, resources } from './kinds/resources.ts'
import { anyObjectPermissions, objectPermissions } from './object-permissions.ts'
import {
  checkPrecondition,
  type DirectoryObject,
  entityTag,
  findObject,
  objectColumns,
} from './object-store.ts'
import { contextOf, renderItem, renderObject } from './render-object.ts'

const anyObject = Type.Object({ '@odata.type': Type.String(), id: Type.String() })
const all = Object.values(resources)

const getDirectoryObject = operation({
  name: 'getDirectoryObject',
  clause: 'DIR-134',
  summary: 'Get a directory object of any kind',
  method: 'GET',
  path: '/directoryObjects/:id',
  permission: { row: anyObjectPermissions.read },
  query: entityQuery,
  answers: { 200: anyObject },
  async run({ tx, caller, params, query, request }) {
    const select = readSelect(query.$select, all)
    const object = await findObject(tx, caller.tenantId, [], params.id ?? '')
    return ok(renderObject(object, request.baseUrl, { set: 'directoryObjects', typed: true, select }), {
      etag: entityTag(object),
    })
  },
})

const deletableKinds: readonly ObjectKind[] = [
  'user',
  'group',
  'servicePrincipal',
  'application',
  'orgContact',
  'device',
]

const deleteDirectoryObject = operation({
  name: 'deleteDirectoryObject',
  clause: 'DIR-134',
  summary: 'Delete a directory object of any kind that can be deleted',
  method: 'DELETE',
  path: '/directoryObjects/:id',
  permission: { anyRow: deletableKinds.map((kind) => objectPermissions[kind].delete) },
  answers: { 204: null },
  async run(context) {
    const { tx, caller, params, request } = context
    // Kinds that the caller may not delete are not there for them.
    const kinds = deletableKinds.filter((kind) => holds(caller, objectPermissions[kind].delete))
    const object = await findObject(tx, caller.tenantId, kinds, params.id ?? '', { lock: true })
    checkPrecondition(request, object)
    await performDeletion(context, object)
    return noContent
  },
})

const maxIds = 1000

const getByIds = operation({
  name: 'getByIds',
  clause: 'DIR-138',
  summary: 'Get directory objects by a list of ids',
  method: 'POST',
  path: ['/directoryObjects/getByIds', ...all.map(({ set }) => `/${set}/getByIds`)],
  permission: { row: anyObjectPermissions.read },
  reads: true,
  query: entityQuery,
  body: Type.Object(
    {
      ids: Type.Array(Type.String(), { maxItems: maxIds, minItems: 1 }),
      types: Type.Optional(Type.Union([Type.Array(Type.String(), { maxItems: 20 }), Type.Null()])),
    },
    { additionalProperties: false },
  ),
  answers: { 200: Type.Object({ '@odata.context': Type.String(), value: Type.Array(anyObject) }) },
  async run({ tx, caller, body, query, request }) {
    const select = readSelect(query.$select, all)
    const kinds = readTypes(body.types ?? [])
    const bad = body.ids.find((id) => !isUuid(id))
    if (bad !== undefined) fail('InvalidObjectIdentifier', { id: bad.slice(0, 200) })
    const objects = await tx<DirectoryObject[]>`
      select ${objectColumns(tx)} from directory_object o
      where o.tenant_id = ${caller.tenantId} and o.id = any(${body.ids}::uuid[]) and o.deleted_at is null
        and ${kinds ? tx`o.kind = any(${kinds})` : tx`true`}
      order by o.id`
    return ok({
      '@odata.context': contextOf(request.baseUrl, 'directoryObjects', select),
      value: objects.map((object) => renderItem(object, { typed: true, select })),
    })
  },
})

function readTypes(types: readonly string[]): ObjectKind[] | undefined {
  if (types.length === 0 || types.includes('directoryObject')) return undefined
  return types.map((type) => {
    const kind = type.replace(/^#?(vendor|microsoft)\.graph\./, '')
    return isObjectKind(kind)
      ? kind
      : fail('InvalidPropertyValue', { property: 'types', resource: 'DirectoryObject' })
  })
}

export const directoryObjectOperations = [getDirectoryObject, deleteDirectoryObject, getByIds]
