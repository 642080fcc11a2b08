import type { Query } from '../../db/query.ts'
import { translateConstraints } from '../../db/sqlstate.ts'
import { fail } from '../../kernel/problem.ts'
import { isUuid } from '../../kernel/uuid.ts'
import type { ItemKind } from '../addresses/addresses.ts'
import type { JsonObject, Stored } from '../entities/property.ts'
import { idOfDefault, storeDefaults } from './default-items.ts'

// Another request deleted the folder, list or owner of the new item.
translateConstraints({
  item_tenant_id_owner_id_fkey: 'ItemNotFound',
  item_tenant_id_parent_id_fkey: 'ItemNotFound',
})

export interface Item extends Stored {
  readonly kind: ItemKind
  readonly ownerId: string
  readonly parentId: string | null
  readonly createdAt: Date
  readonly updatedAt: Date
  readonly version: number
}

/** Columns of item in the names of `Item`; the table's alias is `o`. */
export function itemColumns(tx: Query) {
  return tx`o.id, o.kind, o.owner_id as "ownerId", o.parent_id as "parentId", o.properties,
    o.created_at as "createdAt", o.updated_at as "updatedAt", o.version`
}

interface FindOptions {
  /** The item that it must lie in. */
  readonly parent?: Item | undefined
  /** Keeps others from changing it until the transaction ends. */
  readonly lock?: boolean
}

/** An item by id or well-known name, among those of its owner. */
export async function findItem(
  tx: Query,
  tenantId: string,
  ownerId: string,
  kind: ItemKind,
  key: string,
  { parent, lock }: FindOptions = {},
): Promise<Item> {
  const known = idOfDefault(ownerId, kind, key)
  if (known) await storeDefaults(tx, tenantId, ownerId, kind)
  const id = known ?? key
  if (!isUuid(id)) fail('InvalidObjectIdentifier', { id: key.slice(0, 200) })
  const [item] = await tx<Item[]>`
    select ${itemColumns(tx)} from item o
    where o.tenant_id = ${tenantId} and o.id = ${id} and o.owner_id = ${ownerId} and o.kind = ${kind}
      and ${parent ? tx`o.parent_id = ${parent.id}` : tx`true`}
    ${lock ? tx`for update` : tx``}`
  return item ?? fail('ItemNotFound')
}

export interface NewItem {
  readonly kind: ItemKind
  readonly ownerId: string
  readonly parentId: string | null
  readonly properties: JsonObject
}

export async function insertItem(tx: Query, tenantId: string, item: NewItem): Promise<Item> {
  const [stored] = await tx<Item[]>`
    insert into item as o (tenant_id, id, kind, owner_id, parent_id, properties)
    values (${tenantId}, ${crypto.randomUUID()}, ${item.kind}, ${item.ownerId}, ${item.parentId},
      ${tx.json(item.properties)})
    returning ${itemColumns(tx)}`
  return written(stored)
}

/** Stores changed properties; null clears one. Lock the item first: all its properties are written. */
export async function updateItem(
  tx: Query,
  tenantId: string,
  item: Item,
  changes: JsonObject,
): Promise<Item> {
  const merged = Object.entries({ ...item.properties, ...changes })
  const properties = Object.fromEntries(merged.filter(([, value]) => value !== null))
  const [stored] = await tx<Item[]>`
    update item o set properties = ${tx.json(properties)}, version = o.version + 1, updated_at = now()
    where o.tenant_id = ${tenantId} and o.id = ${item.id}
    returning ${itemColumns(tx)}`
  return written(stored)
}

/** Deletes an item with the items in it and all extensions. */
export async function deleteItem(tx: Query, tenantId: string, id: string): Promise<void> {
  await tx`delete from item where tenant_id = ${tenantId} and id = ${id}`
}

function written(item: Item | undefined): Item {
  if (!item) throw new Error('a write of an item returned no row')
  return item
}
