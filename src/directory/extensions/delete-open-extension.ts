import { noContent } from '../../api/operation.ts'
import { appendChanges } from '../../db/change-log.ts'
import { findResource } from '../addresses/find-resource.ts'
import { pathOf } from '../addresses/resource-path.ts'
import { operation } from '../operation.ts'
import { deleteOpenExtensionPermissions } from '../permissions.ts'
import { beforeWrite } from '../write-rules/before-write.ts'
import { extensible, extensionAt } from './extensible.ts'
import { deleteExtension, describeExtensionChange, describeWrite, findExtension } from './extension-store.ts'

export const deleteOpenExtension = extensible.map((address) =>
  operation({
    name: `deleteOpenExtensionOf${address.noun}`,
    clause: 'DIR-39',
    summary: 'Take an open extension off a resource',
    method: 'DELETE',
    path: extensionAt(address),
    permission: { row: deleteOpenExtensionPermissions[address.row] },
    answers: { 204: null },
    async run(context) {
      const { params, caller, tx, audit } = context
      const { tenantId } = caller
      const found = await findResource(tx, caller, address, params, { writes: true })
      const { name, data } = await findExtension(tx, tenantId, found, params.extensionId ?? '', {
        lock: true,
      })
      await beforeWrite(context, describeWrite('delete', found, name, data, {}))
      await deleteExtension(tx, tenantId, found, name)
      const target = `${pathOf(found)}/extensions/${name}`
      audit({ action: 'delete openExtension', target, before: data })
      await appendChanges(tx, tenantId, [describeExtensionChange(found, 'extensionDeleted', name)])
      return noContent
    },
  }),
)
