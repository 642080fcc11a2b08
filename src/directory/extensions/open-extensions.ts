import { Type } from 'typebox'
import { ok } from '../../api/operation.ts'
import type { Change } from '../../db/change-log.ts'
import { type Address, addresses, isObjectKind } from '../addresses/addresses.ts'
import { type Found, findResource } from '../addresses/find-resource.ts'
import { contextPathOf, pathOf } from '../addresses/resource-path.ts'
import { operationsOn } from '../entities/entity-operations.ts'
import type { EntitySet, Located } from '../entities/entity-set.ts'
import type { Owner } from '../entities/entity-write.ts'
import type { JsonObject, Stored } from '../entities/property.ts'
import { collectionSchema, extensionSchema } from '../entities/schemas.ts'
import { contextOf } from '../entities/show-entity.ts'
import { operation } from '../operation.ts'
import { deleteOpenExtensionPermissions } from '../permissions.ts'
import { extensionRights, forEachWrite } from '../rights/declared-rights.ts'
import { readIdFilter } from './expand-extensions.ts'
import { changeData, changedExtension, checkSize, newExtension, readNewExtension } from './extension-data.ts'
import { isSameName, qualify } from './extension-name.ts'
import {
  deleteExtension,
  findExtension,
  insertExtension,
  listExtensions,
  replaceData,
} from './extension-store.ts'
import { readPermissions } from './permissions.ts'
import { idOf, renderExtension } from './render-extension.ts'

/** An open extension; its id is its name. */
interface OpenExtension extends Stored {
  readonly found: Found
  /** The id in answers. */
  readonly shownId: string
}

interface ExtensibleAddress extends Address {
  /** Ends the names of operations. */
  readonly noun: string
}

/** The open extensions of the resources at one address. */
function extensionSet(address: ExtensibleAddress): EntitySet<OpenExtension> {
  const place = isObjectKind(address.kind) ? 'object' : 'item'
  const write = { row: deleteOpenExtensionPermissions[address.row] }
  return {
    kind: 'openExtension',
    noun: 'OpenTypeExtension',
    isPrivate: true,
    properties: {},
    clause: 'DIR-130',
    schema: extensionSchema,
    one: `OpenExtensionOf${address.noun}`,
    many: `OpenExtensionsOf${address.noun}`,
    collections: address.paths.map((path) => `${path}/extensions`),
    instances: address.paths.map((path) => `${path}/extensions/:extensionId`),
    permissions: { read: { row: readPermissions[address.row] }, create: write, update: write, delete: write },
    rights: forEachWrite(extensionRights[address.row]),
    selectable: false,
    async openToCreate({ tx, caller, params }) {
      const { tenantId, applicationId } = caller
      const found = await findResource(tx, caller, address, params, { writes: true, lock: true })
      return {
        owner: ownerOf(found),
        async insert({ extensionName, ...data }) {
          const name = String(extensionName)
          await insertExtension(tx, tenantId, found, { name, applicationId, data })
          return locate(found, name, data, qualify(name))
        },
      }
    },
    async find({ tx, caller, params }, purpose) {
      const writes = purpose === 'write'
      const found = await findResource(tx, caller, address, params, { writes })
      const id = params.extensionId ?? ''
      const { name, data } = await findExtension(tx, caller.tenantId, found, id, { lock: writes })
      return locate(found, name, data, idOf(place, name))
    },
    show: ({ id, properties, shownId }) => renderExtension(id, properties, shownId),
    describeChange,
    creation: {
      body: newExtension,
      async read(_context, body) {
        const { name, data } = readNewExtension(body)
        checkSize(data, place)
        return { extensionName: name, ...data }
      },
    },
    update: {
      body: changedExtension,
      async read(_context, { row }, body) {
        const data = changeData(row.id, row.properties, body)
        checkSize(data, place)
        return data
      },
      async store({ tx, caller }, { row }, data) {
        await replaceData(tx, caller.tenantId, row.found, row.id, data)
        return { ...row, properties: data }
      },
      // The original answers 204 for objects and 200 for items.
      answersWithEntity: place === 'item',
    },
    async remove({ tx, caller }, { row }) {
      await deleteExtension(tx, caller.tenantId, row.found, row.id)
      return [describeChange('deleted', row)]
    },
  }
}

function setOf(found: Found): string {
  return `${contextPathOf(found)}/extensions`
}

function locate(found: Found, name: string, data: JsonObject, shownId: string): Located<OpenExtension> {
  return {
    row: { id: name, kind: 'openExtension', properties: data, found, shownId },
    set: setOf(found),
    path: `${pathOf(found)}/extensions/${name}`,
    owner: ownerOf(found),
  }
}

function ownerOf({ object, item }: Found): Owner {
  return item ? { ...object, item: item.kind } : object
}

const changeKinds = {
  created: 'extensionCreated',
  updated: 'extensionUpdated',
  deleted: 'extensionDeleted',
} as const

/** The change is logged as one of the resource: clients that follow the resource want to know. */
function describeChange(kind: keyof typeof changeKinds, { id, found }: OpenExtension): Change {
  const { kind: entity, id: entityId } = found.item ?? found.object
  return { entity, entityId, kind: changeKinds[kind], data: { name: id } }
}

const listQuery = Type.Object({
  $filter: Type.Optional(Type.String({ description: "id eq '{extensionId}'" })),
})

function listOpenExtensions(address: ExtensibleAddress) {
  return operation({
    name: `listOpenExtensionsOf${address.noun}`,
    clause: 'DIR-130',
    summary: 'List the open extensions of a resource; there are never so many that they need pages',
    method: 'GET',
    path: address.paths.map((path) => `${path}/extensions`),
    permission: { row: readPermissions[address.row] },
    query: listQuery,
    answers: { 200: collectionSchema(extensionSchema, 'openTypeExtensionCollection') },
    async run({ params, query: { $filter }, caller, tx, request }) {
      const wanted = $filter === undefined ? undefined : readIdFilter($filter, '$filter')
      const found = await findResource(tx, caller, address, params, { writes: false })
      const place = found.item ? 'item' : 'object'
      const extensions = await listExtensions(tx, caller.tenantId, found)
      return ok({
        '@odata.context': contextOf(request.baseUrl, setOf(found)),
        value: extensions
          .filter(({ name }) => wanted === undefined || isSameName(name, wanted))
          .map(({ name, data }) => renderExtension(name, data, idOf(place, name))),
      })
    },
  })
}

export const openExtensionOperations = Object.entries<Address>(addresses)
  .filter(([, address]) => address.extensible)
  .flatMap(([noun, address]) => [
    ...operationsOn(extensionSet({ ...address, noun }), ['create', 'get', 'update']),
    ...operationsOn({ ...extensionSet({ ...address, noun }), clause: 'DIR-39' }, ['delete']),
    listOpenExtensions({ ...address, noun }),
  ])
