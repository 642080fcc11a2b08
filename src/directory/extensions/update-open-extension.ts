import { noContent, ok } from '../../api/operation.ts'
import { appendChanges } from '../../db/change-log.ts'
import { findResource } from '../addresses/find-resource.ts'
import { pathOf } from '../addresses/resource-path.ts'
import { operation } from '../operation.ts'
import { deleteOpenExtensionPermissions } from '../permissions.ts'
import { beforeWrite } from '../write-rules/before-write.ts'
import { extensible, extensionAt } from './extensible.ts'
import { changeData, changedExtension, checkSize } from './extension-data.ts'
import { describeExtensionChange, describeWrite, findExtension, replaceData } from './extension-store.ts'
import { extensionSchema, extensionsContext, idOf, placeOf, renderExtension } from './render-extension.ts'

/** As the original has it: an extension of a directory object answers without a body, one of an item with it. */
export const updateOpenExtension = extensible.map((address) =>
  operation({
    name: `updateOpenExtensionOf${address.noun}`,
    clause: 'DIR-130',
    summary: 'Change properties of an open extension; null removes one',
    method: 'PATCH',
    path: extensionAt(address),
    permission: { row: deleteOpenExtensionPermissions[address.row] },
    body: changedExtension,
    answers: { 200: extensionSchema, 204: null },
    async run(context) {
      const { params, body, caller, tx, request, audit } = context
      const { tenantId } = caller
      const found = await findResource(tx, caller, address, params, { writes: true })
      const before = await findExtension(tx, tenantId, found, params.extensionId ?? '', { lock: true })
      const { name } = before
      const data = changeData(name, before.data, body)
      checkSize(data, placeOf(found))
      await beforeWrite(context, describeWrite('update', found, name, before.data, data))
      await replaceData(tx, tenantId, found, name, data)
      const target = `${pathOf(found)}/extensions/${name}`
      audit({ action: 'update openExtension', target, before: before.data, after: data })
      await appendChanges(tx, tenantId, [describeExtensionChange(found, 'extensionUpdated', name)])
      if (!found.item) return noContent
      return ok({
        '@odata.context': `${extensionsContext(request.baseUrl, found)}/$entity`,
        ...renderExtension({ name, data }, idOf('item', name)),
      })
    },
  }),
)
