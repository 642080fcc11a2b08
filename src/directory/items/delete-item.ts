import { noContent } from '../../api/operation.ts'
import { appendChanges } from '../../db/change-log.ts'
import { fail } from '../../kernel/problem.ts'
import { findResource } from '../addresses/find-resource.ts'
import { pathOf } from '../addresses/resource-path.ts'
import { checkPrecondition } from '../objects/object-store.ts'
import { operation } from '../operation.ts'
import { deleteOpenExtensionPermissions } from '../permissions.ts'
import { beforeWrite } from '../write-rules/before-write.ts'
import { wellKnownNameOf } from './default-items.ts'
import { listed } from './item-addresses.ts'
import { deleteItem as removeItem } from './item-store.ts'
import { requireItem } from './require-item.ts'
import { describeItemChange } from './write-item.ts'

export const deleteItem = listed.map((address) =>
  operation({
    name: `delete${address.noun}`,
    clause: 'DIR-135',
    summary: `Delete a ${address.kind} with all that lies in it`,
    method: 'DELETE',
    path: address.paths,
    permission: { row: deleteOpenExtensionPermissions[address.row] },
    answers: { 204: null },
    async run(context) {
      const { tx, caller, params, request, audit } = context
      const { tenantId } = caller
      const found = await findResource(tx, caller, address, params, { writes: true, lock: true })
      const item = requireItem(found)
      checkPrecondition(request, item)
      if (wellKnownNameOf(item.ownerId, item.kind, item.id)) fail('DefaultItemStays')
      await beforeWrite(context, {
        verb: 'delete',
        kind: item.kind,
        id: item.id,
        owner: found.object,
        before: item.properties,
        changes: {},
      })
      await removeItem(tx, tenantId, item.id)
      audit({ action: `delete ${address.kind}`, target: pathOf(found), before: item.properties })
      await appendChanges(tx, tenantId, [describeItemChange('deleted', item)])
      return noContent
    },
  }),
)
