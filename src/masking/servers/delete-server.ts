import { noContent } from '../../api/operation.ts'
import { fail } from '../../kernel/problem.ts'
import { checkConditions } from '../entity-tag.ts'
import { operation, resourceApiVersions } from '../operation.ts'
import { keyRange } from '../page.ts'
import { canonicalNamespace, readServerPlace, scopeOf, serverPath } from '../place.ts'
import { lockServer, renderServer, serverTarget } from './server.ts'

const action = 'Vendor.Sql/servers/delete'

export const deleteServer = operation({
  name: 'deleteServer',
  clause: 'MASK-107',
  summary: 'Delete a server that has no databases; 204 when there was none',
  method: 'DELETE',
  path: serverPath,
  apiVersions: resourceApiVersions,
  permission: { action, scope: scopeOf },
  answers: { 200: null, 204: null },

  async run({ params, caller, tx, request, audit }) {
    const { tenantId } = caller
    const server = await lockServer(tx, tenantId, readServerPlace(params))
    checkConditions(request, server?.version ?? null)
    if (!server) return noContent
    const { after, before } = keyRange(server.key)
    const [held] = await tx<{ count: number }[]>`
      select count(*) from masked_database where tenant_id = ${tenantId} and key > ${after} and key < ${before}`
    if (held && held.count > 0)
      fail('Conflict', {
        reason: `The server '${server.place.serverName}' still has ${held.count} databases. Delete them first.`,
      })
    await tx`delete from server where tenant_id = ${tenantId} and key = ${server.key}`
    audit({ action, target: serverTarget(server.place), before: renderServer(server, canonicalNamespace) })
    return { status: 200 }
  },
})
