import { Type } from 'typebox'
import { ok } from '../../api/operation.ts'
import { namespaceOfRequest, operation, resourceApiVersions } from '../operation.ts'
import { decodeSkipToken, encodeSkipToken, keyRange, nextLink } from '../page.ts'
import { keyOf, readServerPlace, scopeOf, serverPath } from '../place.ts'
import { databaseAnswer, renderDatabase } from './database.ts'
import { selectDatabases } from './database-row.ts'

const pageSize = 1000

export const listDatabases = operation({
  name: 'listDatabases',
  clause: 'MASK-107',
  summary: 'List the databases of a server',
  method: 'GET',
  path: `${serverPath}/databases`,
  apiVersions: resourceApiVersions,
  permission: { action: 'Vendor.Sql/servers/databases/read', scope: scopeOf },
  query: Type.Object({ $skipToken: Type.Optional(Type.String()) }),
  answers: {
    200: Type.Object({ value: Type.Array(databaseAnswer), nextLink: Type.Optional(Type.String()) }),
  },

  async run({ params, query, caller, tx, request, ports }) {
    const range = keyRange(keyOf(readServerPlace(params)))
    const [position = ''] = decodeSkipToken(query.$skipToken, 1) ?? []
    const found = await selectDatabases(tx, caller.tenantId, { ...range, position }, pageSize + 1)
    const namespace = namespaceOfRequest({ request, ports })
    const page = found.slice(0, pageSize)
    const last = page.at(-1)
    return ok({
      value: page.map((database) => renderDatabase(database, namespace)),
      ...(found.length > pageSize &&
        last && {
          nextLink: nextLink(request, {
            'api-version': resourceApiVersions[0],
            $skipToken: encodeSkipToken([keyOf(last.place)]),
          }),
        }),
    })
  },
})
