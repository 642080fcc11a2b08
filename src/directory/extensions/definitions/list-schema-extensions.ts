import { Type } from 'typebox'
import { ok } from '../../../api/operation.ts'
import { listPage, listQuery } from '../../odata/list.ts'
import { operation } from '../../operation.ts'
import { definitionPermissions } from './permissions.ts'
import {
  type SchemaExtension,
  schemaExtensionSchema,
  schemaExtensionsOf,
  showSchemaExtension,
} from './schema-extension.ts'

const { $select: _select, ...options } = listQuery.properties

export const listSchemaExtensions = operation({
  name: 'listSchemaExtensions',
  clause: 'DIR-128',
  summary: 'List the definitions of schema extensions',
  method: 'GET',
  path: '/schemaExtensions',
  permission: { row: definitionPermissions.readSchemas },
  query: Type.Object(options),
  answers: { 200: Type.Object({ value: Type.Array(schemaExtensionSchema) }) },
  async run({ tx, caller, query, request }) {
    const source = schemaExtensionsOf(tx, caller.tenantId)
    const page = await listPage<SchemaExtension>(tx, request, query, source)
    return ok({
      '@odata.context': `${request.baseUrl}/$metadata#schemaExtensions`,
      ...page.annotations,
      value: page.rows.map(showSchemaExtension),
    })
  },
})
