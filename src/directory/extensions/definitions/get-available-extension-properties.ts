import { Type } from 'typebox'
import { ok } from '../../../api/operation.ts'
import { operation } from '../../operation.ts'
import {
  type ExtensionProperty,
  extensionPropertiesOf,
  extensionPropertySchema,
  showExtensionProperty,
} from './extension-property.ts'
import { definitionPermissions } from './permissions.ts'

const mostShown = 10_000

export const getAvailableExtensionProperties = operation({
  name: 'getAvailableExtensionProperties',
  clause: 'DIR-127',
  summary: 'All directory extensions that can be used in this directory',
  method: 'POST',
  path: '/directoryObjects/getAvailableExtensionProperties',
  permission: { row: definitionPermissions.readAvailable },
  reads: true,
  body: Type.Object(
    { isSyncedFromOnPremises: Type.Optional(Type.Boolean()) },
    { additionalProperties: false },
  ),
  answers: { 200: Type.Object({ value: Type.Array(extensionPropertySchema) }) },
  async run({ tx, caller: { tenantId }, body: { isSyncedFromOnPremises = false }, request }) {
    const { columns, from, where } = extensionPropertiesOf(tx, tenantId)
    // Nothing is synchronised into this directory from elsewhere.
    const definitions = isSyncedFromOnPremises
      ? []
      : await tx<ExtensionProperty[]>`
          select ${columns} from ${from} where ${where} order by d.name limit ${mostShown}`
    return ok({
      '@odata.context': `${request.baseUrl}/$metadata#extensionProperties`,
      value: definitions.map(showExtensionProperty),
    })
  },
})
