import { Type } from 'typebox'
import { ok } from '../../api/operation.ts'
import { findResource } from '../addresses/find-resource.ts'
import { operation } from '../operation.ts'
import { readIdFilter } from './expand-extensions.ts'
import { extensible, extensionsAt } from './extensible.ts'
import { isSameName } from './extension-name.ts'
import { listExtensions } from './extension-store.ts'
import { readPermissions } from './permissions.ts'
import { extensionSchema, extensionsContext, idOf, placeOf, renderExtension } from './render-extension.ts'

const query = Type.Object({
  $filter: Type.Optional(Type.String({ description: "id eq '{extensionId}'" })),
})

export const listOpenExtensions = extensible.map((address) =>
  operation({
    name: `listOpenExtensionsOf${address.noun}`,
    clause: 'DIR-130',
    summary: 'List the open extensions of a resource; there are never so many that they need pages',
    method: 'GET',
    path: extensionsAt(address),
    permission: { row: readPermissions[address.row] },
    query,
    answers: {
      200: Type.Object({ '@odata.context': Type.String(), value: Type.Array(extensionSchema) }),
    },
    async run({ params, query: { $filter }, caller, tx, request }) {
      const wanted = $filter === undefined ? undefined : readIdFilter($filter, '$filter')
      const found = await findResource(tx, caller, address, params, { writes: false })
      const extensions = await listExtensions(tx, caller.tenantId, found)
      return ok({
        '@odata.context': extensionsContext(request.baseUrl, found),
        value: extensions
          .filter(({ name }) => wanted === undefined || isSameName(name, wanted))
          .map((extension) => renderExtension(extension, idOf(placeOf(found), extension.name))),
      })
    },
  }),
)
