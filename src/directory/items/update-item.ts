import { ok } from '../../api/operation.ts'
import { appendChanges } from '../../db/change-log.ts'
import { findResource } from '../addresses/find-resource.ts'
import { pathOf } from '../addresses/resource-path.ts'
import { readChangedProperties, unknownNames } from '../entities/read-properties.ts'
import { bodySchema, entitySchema } from '../entities/schemas.ts'
import { extensionPropertiesFor } from '../extensions/custom-properties.ts'
import { checkPrecondition, entityTag } from '../objects/object-store.ts'
import { operation } from '../operation.ts'
import { deleteOpenExtensionPermissions } from '../permissions.ts'
import { beforeWrite } from '../write-rules/before-write.ts'
import { instances } from './item-addresses.ts'
import { itemResource } from './item-resources.ts'
import { updateItem as storeChanges } from './item-store.ts'
import { requireItem } from './require-item.ts'
import { showEntity } from './show-item.ts'
import { describeItemChange } from './write-item.ts'

export const updateItem = instances.map((address) => {
  const resource = itemResource(address.kind)
  return operation({
    name: `update${address.noun}`,
    clause: 'DIR-135',
    summary: `Update a ${address.kind}`,
    method: 'PATCH',
    path: address.paths,
    permission: { row: deleteOpenExtensionPermissions[address.row] },
    body: bodySchema(resource, 'update'),
    answers: { 200: entitySchema(resource) },
    async run(context) {
      const { tx, caller, params, body, request, audit } = context
      const { tenantId } = caller
      const names = unknownNames(resource, body)
      const custom = await extensionPropertiesFor(tx, tenantId, address.kind, names)
      const found = await findResource(tx, caller, address, params, { writes: true, lock: true })
      const before = requireItem(found)
      const changes = readChangedProperties(resource, body, custom, before.properties)
      checkPrecondition(request, before)
      await beforeWrite(context, {
        verb: 'update',
        kind: before.kind,
        id: before.id,
        owner: found.object,
        before: before.properties,
        changes,
      })
      const item = await storeChanges(tx, tenantId, before, changes)
      audit({
        action: `update ${address.kind}`,
        target: pathOf(found),
        before: before.properties,
        after: item.properties,
      })
      await appendChanges(tx, tenantId, [describeItemChange('updated', item)])
      return ok(showEntity(request.baseUrl, { object: found.object, item }), { etag: entityTag(item) })
    },
  })
})
