import { ok } from '../../api/operation.ts'
import { fail } from '../../kernel/problem.ts'
import { entityTag } from '../entity-tag.ts'
import { namespaceOfRequest, operation, resourceApiVersions } from '../operation.ts'
import { idOf, readServerPlace, scopeOf, serverPath } from '../place.ts'
import { findServer, renderServer, serverAnswer } from './server.ts'

export const getServer = operation({
  name: 'getServer',
  clause: 'MASK-107',
  summary: 'Get a server',
  method: 'GET',
  path: serverPath,
  apiVersions: resourceApiVersions,
  permission: { action: 'Vendor.Sql/servers/read', scope: scopeOf },
  answers: { 200: serverAnswer },

  async run({ params, caller, tx, request, ports }) {
    const place = readServerPlace(params)
    const namespace = namespaceOfRequest({ request, ports })
    const server = await findServer(tx, caller.tenantId, place)
    if (!server) fail('ResourceNotFound', { id: idOf(place, namespace) })
    return ok(renderServer(server, namespace), entityTag(server.version))
  },
})
