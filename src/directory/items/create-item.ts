import { created } from '../../api/operation.ts'
import { appendChanges } from '../../db/change-log.ts'
import { findResource } from '../addresses/find-resource.ts'
import { pathOf } from '../addresses/resource-path.ts'
import { bodySchema, entitySchema } from '../entities/schemas.ts'
import { expandExtensions } from '../extensions/expand-extensions.ts'
import { entityTag } from '../objects/object-store.ts'
import { operation } from '../operation.ts'
import { deleteOpenExtensionPermissions } from '../permissions.ts'
import { creatable } from './item-addresses.ts'
import { itemResource } from './item-resources.ts'
import { showEntity } from './show-item.ts'
import { describeItemChange, writeNewItem } from './write-item.ts'

export const createItem = creatable.map((address) => {
  const resource = itemResource(address.kind)
  return operation({
    name: `create${address.noun}`,
    clause: 'DIR-135',
    summary: `Create a ${address.kind}; a body with extensions hangs them on it`,
    method: 'POST',
    path: address.collections,
    permission: { row: deleteOpenExtensionPermissions[address.row] },
    body: bodySchema(resource, 'creation'),
    answers: { 201: entitySchema(resource) },
    async run(context) {
      const { tx, caller, params, body, request } = context
      const { object, item: parent } = await findResource(tx, caller, address, params, { writes: true })
      const item = await writeNewItem(context, address.kind, { owner: object, parent }, body)
      const found = { object, item }
      const hangs = 'extensions' in body
      const extensions = hangs
        ? await expandExtensions(tx, caller.tenantId, 'item', [item.id], { name: undefined })
        : undefined
      await appendChanges(tx, caller.tenantId, [describeItemChange('created', item)])
      return created(
        {
          ...showEntity(request.baseUrl, found),
          ...(extensions && { extensions: extensions.get(item.id) ?? [] }),
        },
        { etag: entityTag(item), location: `${request.baseUrl}${pathOf(found)}` },
      )
    },
  })
})
