import { Type } from 'typebox'
import { ok } from '../../api/operation.ts'
import { findDatabase, requireDeclared } from '../databases/database-row.ts'
import { apiVersions, namespaceOfRequest, operation, withEnforcement } from '../operation.ts'
import { mappingsPath, readDatabasePlace, scopeOf } from '../place.ts'
import { mappingAnswer, renderMapping } from './mapping.ts'
import { selectMappings } from './mapping-row.ts'

export const listRoleMappings = operation({
  name: 'listRoleMappings',
  clause: 'GATE-21',
  summary: 'List the role mappings of a database',
  method: 'GET',
  path: mappingsPath,
  apiVersions,
  permission: { action: 'Vendor.Sql/servers/databases/roleMappings/read', scope: scopeOf },
  answers: { 200: Type.Object({ value: Type.Array(mappingAnswer) }) },

  async run({ params, caller, tx, request, ports }) {
    const place = readDatabasePlace(params)
    const namespace = namespaceOfRequest({ request, ports })
    const database = await findDatabase(tx, caller.tenantId, place)
    if (ports.strict) await requireDeclared(tx, caller.tenantId, place, database, namespace)
    const mappings = database ? await selectMappings(tx, database.id) : []
    const principals = [...new Set(mappings.map(({ principalId }) => principalId))]
    const types = await ports.principals.find(caller.tenantId, principals)
    const value = mappings.map((each) => renderMapping(each, database?.place ?? place, types, namespace))
    return withEnforcement(ok({ value }), database, ports, false)
  },
})
