import { Type } from 'typebox'
import { ok } from '../../api/operation.ts'
import { namespaceOfRequest, operation, resourceApiVersions } from '../operation.ts'
import { decodeSkipToken, encodeSkipToken, keyRange, nextLink } from '../page.ts'
import { checkName, fold, scopeOf } from '../place.ts'
import { renderServer, selectServers, serverAnswer } from './server.ts'

const pageSize = 1000

export const listServers = operation({
  name: 'listServers',
  clause: 'MASK-107',
  summary: 'List the servers of a subscription or of a resource group',
  method: 'GET',
  path: [
    '/subscriptions/:subscriptionId/providers/Vendor.Sql/servers',
    '/subscriptions/:subscriptionId/resourceGroups/:resourceGroupName/providers/Vendor.Sql/servers',
  ],
  apiVersions: resourceApiVersions,
  permission: { action: 'Vendor.Sql/servers/read', scope: scopeOf },
  query: Type.Object({ $skipToken: Type.Optional(Type.String()) }),
  answers: { 200: Type.Object({ value: Type.Array(serverAnswer), nextLink: Type.Optional(Type.String()) }) },

  async run({ params, query, caller, tx, request, ports }) {
    for (const parameter of Object.keys(params)) checkName(params, parameter)
    const range = keyRange(fold(scopeOf(params)))
    const [position = ''] = decodeSkipToken(query.$skipToken, 1) ?? []
    const found = await selectServers(tx, caller.tenantId, { ...range, position }, pageSize + 1)
    const namespace = namespaceOfRequest({ request, ports })
    const page = found.slice(0, pageSize)
    const last = page.at(-1)
    return ok({
      value: page.map((server) => renderServer(server, namespace)),
      ...(found.length > pageSize &&
        last && {
          nextLink: nextLink(request, {
            'api-version': resourceApiVersions[0],
            $skipToken: encodeSkipToken([last.key]),
          }),
        }),
    })
  },
})
