import { ok } from '../../../api/operation.ts'
import { operation } from '../../operation.ts'
import { definitionPermissions } from './permissions.ts'
import { findSchemaExtension, schemaExtensionSchema, showSchemaExtension } from './schema-extension.ts'

export const getSchemaExtension = operation({
  name: 'getSchemaExtension',
  clause: 'DIR-128',
  summary: 'Get the definition of a schema extension',
  method: 'GET',
  path: '/schemaExtensions/:id',
  permission: { row: definitionPermissions.readSchemas },
  answers: { 200: schemaExtensionSchema },
  async run({ tx, caller, params, request }) {
    const definition = await findSchemaExtension(tx, caller.tenantId, params.id ?? '')
    return ok({
      '@odata.context': `${request.baseUrl}/$metadata#schemaExtensions/$entity`,
      ...showSchemaExtension(definition),
    })
  },
})
