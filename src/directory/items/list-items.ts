import { Type } from 'typebox'
import { ok } from '../../api/operation.ts'
import type { Query } from '../../db/query.ts'
import type { ItemKind } from '../addresses/addresses.ts'
import { type Found, findResource } from '../addresses/find-resource.ts'
import { collectionOf } from '../addresses/resource-path.ts'
import { listSchema } from '../entities/schemas.ts'
import {
  expandExtensions,
  expandOption,
  readExpansion,
  readExtensionsFilter,
} from '../extensions/expand-extensions.ts'
import { readPermissions } from '../extensions/permissions.ts'
import { contextOf, namespace } from '../objects/render-object.ts'
import { type Fields, fieldsOf } from '../odata/field.ts'
import { type ListSource, listPage, listQuery } from '../odata/list.ts'
import { readSelect } from '../odata/select.ts'
import { operation } from '../operation.ts'
import { storeDefaults } from './default-items.ts'
import { listed } from './item-addresses.ts'
import { itemResource } from './item-resources.ts'
import { type Item, itemColumns } from './item-store.ts'
import { showItem } from './show-item.ts'

const query = Type.Object({ ...listQuery.properties, $expand: expandOption })

export const listItems = listed.map((address) => {
  const resource = itemResource(address.kind)
  const fields = fieldsOf([resource], {})
  return operation({
    name: `list${address.noun}s`,
    clause: 'DIR-135',
    summary: `List items of the kind ${address.kind}`,
    method: 'GET',
    path: address.collections,
    permission: { row: readPermissions[address.row] },
    query,
    answers: { 200: listSchema(resource) },
    async run({ tx, caller, params, query: options, request }) {
      const { tenantId } = caller
      const select = readSelect(options.$select, [resource])
      const expansion = readExpansion(options.$expand, address.extensible)
      const found = await findResource(tx, caller, address, params, { writes: false })
      await storeDefaults(tx, tenantId, found.object.id, address.kind)
      const source = itemsOf(tx, tenantId, found, address.kind, fields)
      const page = await listPage<Item>(tx, request, options, source)
      const ids = page.rows.map(({ id }) => id)
      const extensions = expansion && (await expandExtensions(tx, tenantId, 'item', ids, expansion))
      return ok({
        '@odata.context': contextOf(
          request.baseUrl,
          collectionOf(found.object, address.kind, found.item?.id ?? null),
          select,
        ),
        ...page.annotations,
        value: page.rows.map((item) => ({
          ...showItem(item, select),
          ...(extensions && { extensions: extensions.get(item.id) ?? [] }),
        })),
      })
    },
  })
})

/** Under a parent, what lies in it; else all of the owner's, but of folders the outermost. */
function itemsOf(
  tx: Query,
  tenantId: string,
  { object, item: parent }: Found,
  kind: ItemKind,
  fields: Fields,
): ListSource {
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
