import { Type } from 'typebox'
import type { Change } from '../../db/change-log.ts'
import type { Query } from '../../db/query.ts'
import { fail } from '../../kernel/problem.ts'
import type { ItemKind } from '../addresses/addresses.ts'
import { type Found, findResource } from '../addresses/find-resource.ts'
import { collectionOf, pathOf } from '../addresses/resource-path.ts'
import { readNew } from '../entities/create-entity.ts'
import type { Collection, Creation, EntityContext, EntitySet, Located } from '../entities/entity-set.ts'
import type { Described } from '../entities/property.ts'
import { namespace } from '../entities/show-entity.ts'
import { readExtensionsFilter } from '../extensions/expand-extensions.ts'
import { newExtension } from '../extensions/extension-data.ts'
import { readPermissions } from '../extensions/permissions.ts'
import type { DirectoryObject } from '../objects/object-store.ts'
import { type Fields, fieldsOf, type Storage } from '../odata/field.ts'
import type { ListSource } from '../odata/list.ts'
import { deleteOpenExtensionPermissions } from '../permissions.ts'
import { extensionRights, forEachWrite } from '../rights/declared-rights.ts'
import { defaultPlaces, idOfDefault, storeDefaults, wellKnownNameOf } from './default-items.ts'
import { extensibleKinds, insertInlineExtensions } from './inline-extensions.ts'
import type { ItemAddress } from './item-addresses.ts'
import { itemResource } from './item-resources.ts'
import { deleteItem, type Item, insertItem, itemColumns, updateItem } from './item-store.ts'

export type ItemSet = EntitySet<Item>

/** The items of one kind at one address. */
export function itemSet(address: ItemAddress): ItemSet {
  const { kind, noun, row } = address
  const write = { row: deleteOpenExtensionPermissions[row] }
  return {
    ...newItems(kind),
    clause: 'DIR-135',
    one: noun,
    many: `${noun}s`,
    collections: address.collections,
    instances: address.paths,
    permissions: { read: { row: readPermissions[row] }, create: write, update: write, delete: write },
    rights: forEachWrite(extensionRights[row]),
    extensionsOn: address.extensible ? 'item' : undefined,
    async openToList({ tx, caller, params }) {
      const found = await findResource(tx, caller, address, params, { writes: false })
      const { object, item: parent } = found
      await storeDefaults(tx, caller.tenantId, object.id, kind)
      const source = sourceOf(tx, caller.tenantId, kind, found)
      return { set: collectionOf(object, kind, parent?.id ?? null), source }
    },
    async openToCreate(context) {
      const { tx, caller, params } = context
      return openItems(context, kind, await findResource(tx, caller, address, params, { writes: true }))
    },
    async find({ tx, caller, params }, purpose) {
      const writes = purpose === 'write'
      const { object, item } = await findResource(tx, caller, address, params, { writes, lock: writes })
      return locateItem(object, item ?? fail('ItemNotFound'))
    },
    describeChange: describeItemChange,
    update: {
      store: ({ tx, caller }, { row: item }, changes) => updateItem(tx, caller.tenantId, item, changes),
      answersWithEntity: true,
    },
    async remove({ tx, caller }, { row: item }) {
      if (wellKnownNameOf(item.ownerId, item.kind, item.id)) fail('DefaultItemStays')
      await deleteItem(tx, caller.tenantId, item.id)
      return [describeItemChange('deleted', item)]
    },
  }
}

/** The rules for creating items of a kind. A body may have open extensions for the new item. */
export function newItems(kind: ItemKind): Described & { readonly creation: Creation<Item> } {
  const described = itemResource(kind)
  return {
    ...described,
    creation: {
      ...(extensibleKinds.has(kind) && { takes: { extensions: Type.Optional(Type.Array(newExtension)) } }),
      read: (context, { extensions: _, ...body }) => readNew(context, described, body),
      also: (context, { row: item, owner }, _sent, { extensions = [] }) =>
        insertInlineExtensions(context, { object: owner as DirectoryObject, item }, extensions),
    },
  }
}

/** The items of a kind that belong to an owner, and lie in a parent where there is one. */
export function openItems(
  { tx, caller: { tenantId } }: EntityContext,
  kind: ItemKind,
  { object, item: parent }: Found,
): Collection<Item> {
  return {
    owner: object,
    async insert(properties) {
      const parentId = parent?.id ?? (await placeOfNew(tx, tenantId, object.id, kind))
      return locateItem(
        object,
        await insertItem(tx, tenantId, { kind, ownerId: object.id, parentId, properties }),
      )
    },
  }
}

function locateItem(owner: DirectoryObject, row: Item): Located<Item> {
  return {
    row,
    owner,
    set: collectionOf(owner, row.kind, row.parentId),
    path: pathOf({ object: owner, item: row }),
  }
}

/** The default folder, calendar or list; null for kinds that lie in none. */
async function placeOfNew(
  tx: Query,
  tenantId: string,
  ownerId: string,
  kind: ItemKind,
): Promise<string | null> {
  const [placeKind, name] = defaultPlaces[kind] ?? []
  if (!placeKind || !name) return null
  await storeDefaults(tx, tenantId, ownerId, placeKind)
  return idOfDefault(ownerId, placeKind, name) ?? null
}

const itemStorage: Storage = { columns: {}, filterAll: false }
const knownFields = new Map<ItemKind, Fields>()

/** Under a parent the items that lie in it; else all of the owner's, but only the outermost folders. */
function sourceOf(tx: Query, tenantId: string, kind: ItemKind, { object, item: parent }: Found): ListSource {
  const fields = knownFields.get(kind) ?? fieldsOf([itemResource(kind)], itemStorage)
  knownFields.set(kind, fields)
  const isFolder = kind === 'mailFolder' || kind === 'contactFolder'
  const outermost = isFolder ? tx`o.parent_id is null` : tx`true`
  return {
    columns: itemColumns(tx),
    from: tx`item o`,
    where: tx`o.tenant_id = ${tenantId} and o.owner_id = ${object.id} and o.kind = ${kind}
      and ${parent ? tx`o.parent_id = ${parent.id}` : outermost}`,
    id: 'o.id',
    fields,
    type: `${namespace}.${kind}`,
    readFilter: (text) => {
      const name = readExtensionsFilter(text)
      return name === undefined ? undefined : holdsExtension(tx, name)
    },
  }
}

function holdsExtension(tx: Query, name: string) {
  return tx`exists (
    select from open_extension as e
    where e.tenant_id = o.tenant_id and e.item_id = o.id and lower(e.name) = lower(${name}))`
}

export function describeItemChange(kind: 'created' | 'updated' | 'deleted', item: Item): Change {
  const { id, ownerId, version } = item
  return { entity: item.kind, entityId: id, kind, data: { owner: ownerId, version } }
}
