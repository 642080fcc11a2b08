import { noContent } from '../../api/operation.ts'
import { lockDatabase, requireDeclared } from '../databases/database-row.ts'
import { checkConditions } from '../entity-tag.ts'
import { apiVersions, namespaceOfRequest, operation, withEnforcement } from '../operation.ts'
import { canonicalNamespace, mappingsPath, readDatabasePlace, scopeOf } from '../place.ts'
import { mappingTarget, readMappingName, renderMapping } from './mapping.ts'
import { findMapping, removeMapping } from './mapping-row.ts'

const action = 'Vendor.Sql/servers/databases/roleMappings/delete'

export const deleteRoleMapping = operation({
  name: 'deleteRoleMapping',
  clause: 'GATE-21',
  summary: 'Delete one role mapping; 204 when there was none',
  method: 'DELETE',
  path: `${mappingsPath}/:roleMappingName`,
  apiVersions,
  permission: { action, scope: scopeOf },
  answers: { 200: null, 204: null },

  async run({ params, caller, tx, request, ports, audit }) {
    const place = readDatabasePlace(params)
    const name = readMappingName(params)
    const database = await lockDatabase(tx, caller.tenantId, place)
    if (ports.strict)
      await requireDeclared(tx, caller.tenantId, place, database, namespaceOfRequest({ request, ports }))
    const mapping = database && (await findMapping(tx, database.id, name))
    checkConditions(request, mapping?.version ?? null)
    if (!mapping) return withEnforcement(noContent, database, ports, false)
    await removeMapping(tx, database.id, name)
    const types = await ports.principals.find(caller.tenantId, [mapping.principalId])
    audit({
      action,
      target: mappingTarget(database.place, mapping.name),
      before: renderMapping(mapping, database.place, types, canonicalNamespace),
    })
    return withEnforcement({ status: 200 }, database, ports, true)
  },
})
