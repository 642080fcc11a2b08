import { Type } from 'typebox'
import { ok } from '../../api/operation.ts'
import { findResource } from '../addresses/find-resource.ts'
import { entitySchema } from '../entities/schemas.ts'
import { expandExtensions, expandOption, readExpansion } from '../extensions/expand-extensions.ts'
import { readPermissions } from '../extensions/permissions.ts'
import { entityTag } from '../objects/object-store.ts'
import { readSelect } from '../odata/select.ts'
import { operation } from '../operation.ts'
import { instances } from './item-addresses.ts'
import { itemResource } from './item-resources.ts'
import { requireItem } from './require-item.ts'
import { showEntity } from './show-item.ts'

const query = Type.Object({
  $select: Type.Optional(Type.String({ description: 'Properties to return, separated by commas.' })),
  $expand: expandOption,
})

export const getItem = instances.map((address) => {
  const resource = itemResource(address.kind)
  return operation({
    name: `get${address.noun}`,
    clause: 'DIR-135',
    summary: `Get a ${address.kind}`,
    method: 'GET',
    path: address.paths,
    permission: { row: readPermissions[address.row] },
    query,
    answers: { 200: entitySchema(resource) },
    async run({ tx, caller, params, query: { $select, $expand }, request }) {
      const select = readSelect($select, [resource])
      const expansion = readExpansion($expand, address.extensible)
      const found = await findResource(tx, caller, address, params, { writes: false })
      const { object } = found
      const item = requireItem(found)
      const extensions =
        expansion && (await expandExtensions(tx, caller.tenantId, 'item', [item.id], expansion))
      return ok(
        {
          ...showEntity(request.baseUrl, { object, item }, select),
          ...(extensions && { extensions: extensions.get(item.id) ?? [] }),
        },
        { etag: entityTag(item) },
      )
    },
  })
})
