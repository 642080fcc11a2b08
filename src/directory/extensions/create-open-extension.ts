import { created } from '../../api/operation.ts'
import { appendChanges } from '../../db/change-log.ts'
import { findResource } from '../addresses/find-resource.ts'
import { pathOf } from '../addresses/resource-path.ts'
import { operation } from '../operation.ts'
import { deleteOpenExtensionPermissions } from '../permissions.ts'
import { beforeWrite } from '../write-rules/before-write.ts'
import { extensible, extensionsAt } from './extensible.ts'
import { checkSize, newExtension, readNewExtension } from './extension-data.ts'
import { qualify } from './extension-name.ts'
import { describeExtensionChange, describeWrite, insertExtension } from './extension-store.ts'
import { extensionSchema, extensionsContext, placeOf, renderExtension } from './render-extension.ts'

export const createOpenExtension = extensible.map((address) =>
  operation({
    name: `createOpenExtensionOf${address.noun}`,
    clause: 'DIR-130',
    summary: 'Hang an open extension on a resource',
    method: 'POST',
    path: extensionsAt(address),
    permission: { row: deleteOpenExtensionPermissions[address.row] },
    body: newExtension,
    answers: { 201: extensionSchema },
    async run(context) {
      const { params, body, caller, tx, request, audit } = context
      const { tenantId, applicationId } = caller
      const { name, data } = readNewExtension(body)
      const found = await findResource(tx, caller, address, params, { writes: true, lock: true })
      checkSize(data, placeOf(found))
      await beforeWrite(context, describeWrite('create', found, undefined, {}, data))
      await insertExtension(tx, tenantId, found, { name, applicationId, data })
      const target = `${pathOf(found)}/extensions/${name}`
      audit({ action: 'create openExtension', target, after: data })
      await appendChanges(tx, tenantId, [describeExtensionChange(found, 'extensionCreated', name)])
      return created(
        {
          '@odata.context': `${extensionsContext(request.baseUrl, found)}/$entity`,
          ...renderExtension({ name, data }, qualify(name)),
        },
        { location: `${request.baseUrl}${target}` },
      )
    },
  }),
)
