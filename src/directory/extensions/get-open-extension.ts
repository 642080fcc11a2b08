import { ok } from '../../api/operation.ts'
import { findResource } from '../addresses/find-resource.ts'
import { operation } from '../operation.ts'
import { extensible, extensionAt } from './extensible.ts'
import { findExtension } from './extension-store.ts'
import { readPermissions } from './permissions.ts'
import { extensionSchema, extensionsContext, idOf, placeOf, renderExtension } from './render-extension.ts'

export const getOpenExtension = extensible.map((address) =>
  operation({
    name: `getOpenExtensionOf${address.noun}`,
    clause: 'DIR-130',
    summary: 'Read an open extension by its name or fully qualified name',
    method: 'GET',
    path: extensionAt(address),
    permission: { row: readPermissions[address.row] },
    answers: { 200: extensionSchema },
    async run({ params, caller, tx, request }) {
      const found = await findResource(tx, caller, address, params, { writes: false })
      const extension = await findExtension(tx, caller.tenantId, found, params.extensionId ?? '')
      return ok({
        '@odata.context': `${extensionsContext(request.baseUrl, found)}/$entity`,
        ...renderExtension(extension, idOf(placeOf(found), extension.name)),
      })
    },
  }),
)
