import { Type } from 'typebox'
import { ok } from '../../../api/operation.ts'
import { findObject } from '../../objects/object-store.ts'
import { listPage, listQuery } from '../../odata/list.ts'
import { operation } from '../../operation.ts'
import {
  type ExtensionProperty,
  extensionPropertiesContext,
  extensionPropertiesOf,
  extensionPropertySchema,
  showExtensionProperty,
} from './extension-property.ts'
import { definitionPermissions } from './permissions.ts'

const { $select: _select, ...options } = listQuery.properties

export const listExtensionProperties = operation({
  name: 'listExtensionProperties',
  clause: 'DIR-127',
  summary: 'List the directory extensions that an application has defined',
  method: 'GET',
  path: '/applications/:id/extensionProperties',
  permission: { row: definitionPermissions.readProperties },
  query: Type.Object(options),
  answers: { 200: Type.Object({ value: Type.Array(extensionPropertySchema) }) },
  async run({ tx, caller: { tenantId }, params, query, request }) {
    const { id } = await findObject(tx, tenantId, 'application', params.id ?? '')
    const source = extensionPropertiesOf(tx, tenantId, id)
    const page = await listPage<ExtensionProperty>(tx, request, query, source)
    return ok({
      '@odata.context': extensionPropertiesContext(request.baseUrl, id),
      ...page.annotations,
      value: page.rows.map(showExtensionProperty),
    })
  },
})
