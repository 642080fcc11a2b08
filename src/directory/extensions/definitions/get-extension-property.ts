import { ok } from '../../../api/operation.ts'
import { findObject } from '../../objects/object-store.ts'
import { operation } from '../../operation.ts'
import {
  extensionPropertiesContext,
  extensionPropertySchema,
  findExtensionProperty,
  showExtensionProperty,
} from './extension-property.ts'
import { definitionPermissions } from './permissions.ts'

export const getExtensionProperty = operation({
  name: 'getExtensionProperty',
  clause: 'DIR-127',
  summary: 'Get the definition of a directory extension',
  method: 'GET',
  path: '/applications/:id/extensionProperties/:extensionProperty',
  permission: { row: definitionPermissions.readProperties },
  answers: { 200: extensionPropertySchema },
  async run({ tx, caller: { tenantId }, params, request }) {
    const { id } = await findObject(tx, tenantId, 'application', params.id ?? '')
    const definition = await findExtensionProperty(tx, tenantId, id, params.extensionProperty ?? '')
    return ok({
      '@odata.context': `${extensionPropertiesContext(request.baseUrl, id)}/$entity`,
      ...showExtensionProperty(definition),
    })
  },
})
