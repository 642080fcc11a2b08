import { Type } from 'typebox'
import { ok } from '../../api/operation.ts'
import { holds } from '../../auth/permit.ts'
import { fail } from '../../kernel/problem.ts'
import { namespacePattern } from '../../kernel/surface.ts'
import { isUuid } from '../../kernel/uuid.ts'
import { operationsOn } from '../entities/entity-operations.ts'
import { tagHeader } from '../entities/entity-tag.ts'
import { entityQuery } from '../entities/entity-view.ts'
import { collectionSchema, objectSchema } from '../entities/schemas.ts'
import { contextOf } from '../entities/show-entity.ts'
import { readSelect } from '../odata/select.ts'
import { operation } from '../operation.ts'
import { rightsToDelete } from '../rights/declared-rights.ts'
import type { ObjectKind } from './kinds/resource.ts'
import { isObjectKind, resources } from './kinds/resources.ts'
import { anyObjectPermissions, objectPermissions } from './object-permissions.ts'
import { describePlace, type ObjectSet, objectSet } from './object-set.ts'
import { type DirectoryObject, findObject, objectColumns } from './object-store.ts'
import { renderItem } from './render-object.ts'
import { objectQuery, viewObjects } from './view-objects.ts'

const all = Object.values(resources)
const allKinds = all.map(({ kind }) => kind)

const deletableKinds: readonly ObjectKind[] = [
  'user',
  'group',
  'servicePrincipal',
  'application',
  'orgContact',
  'device',
]

const users = objectSet(resources.user)

/** Objects of any kind to be deleted. Kinds that the caller may not delete are not among them. */
const directoryObjects: ObjectSet = {
  ...users,
  kind: 'directoryObject',
  one: 'DirectoryObject',
  schema: objectSchema,
  properties: Object.assign({}, ...all.map(({ properties }) => properties)),
  extensionsOn: undefined,
  expandable: undefined,
  instances: ['/directoryObjects/:id'],
  permissions: {
    ...users.permissions,
    delete: { anyRow: deletableKinds.map((kind) => objectPermissions[kind].delete) },
  },
  rights: { ...users.rights, delete: rightsToDelete(deletableKinds) },
  async find({ tx, caller, params }) {
    const kinds = deletableKinds.filter((kind) => holds(caller, objectPermissions[kind].delete))
    return describePlace(await findObject(tx, caller.tenantId, kinds, params.id ?? '', { lock: true }))
  },
}

const getDirectoryObject = operation({
  name: 'getDirectoryObject',
  clause: 'DIR-134',
  summary: 'Get a directory object; the name of a type behind it asks for an object of that type',
  method: 'GET',
  path: ['/directoryObjects/:id', '/directoryObjects/:id/:cast'],
  permission: { row: anyObjectPermissions.read },
  query: objectQuery,
  answers: { 200: objectSchema },
  async run(context) {
    const { tx, caller, params, query } = context
    const view = viewObjects(context, allKinds, query)
    const object = await findObject(tx, caller.tenantId, view.kinds, params.id ?? '')
    return ok(await view.showWhole(object), tagHeader(object))
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
  answers: { 200: collectionSchema(objectSchema, 'directoryObjectCollection') },
  async run({ tx, caller, body, query, request }) {
    const select = readSelect(query.$select, [directoryObjects])
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

const qualifier = new RegExp(`^#?${namespacePattern}\\.`)

function readTypes(types: readonly string[]): ObjectKind[] | undefined {
  if (types.length === 0 || types.includes('directoryObject')) return undefined
  return types.map((type) => {
    const kind = type.replace(qualifier, '')
    return isObjectKind(kind)
      ? kind
      : fail('InvalidPropertyValue', { property: 'types', resource: 'DirectoryObject' })
  })
}

export const directoryObjectOperations = [
  getDirectoryObject,
  ...operationsOn(directoryObjects, ['delete']),
  getByIds,
]
