import { ok } from '../../api/operation.ts'
import { fail } from '../../kernel/problem.ts'
import { findDatabase, requireDeclared } from '../databases/database-row.ts'
import { entityTag } from '../entity-tag.ts'
import { apiVersions, namespaceOfRequest, operation, withEnforcement } from '../operation.ts'
import { mappingsPath, readDatabasePlace, scopeOf } from '../place.ts'
import { mappingAnswer, mappingId, readMappingName, renderMapping } from './mapping.ts'
import { findMapping } from './mapping-row.ts'

export const getRoleMapping = operation({
  name: 'getRoleMapping',
  clause: 'GATE-21',
  summary: 'Get one role mapping',
  method: 'GET',
  path: `${mappingsPath}/:roleMappingName`,
  apiVersions,
  permission: { action: 'Vendor.Sql/servers/databases/roleMappings/read', scope: scopeOf },
  answers: { 200: mappingAnswer },

  async run({ params, caller, tx, request, ports }) {
    const place = readDatabasePlace(params)
    const name = readMappingName(params)
    const namespace = namespaceOfRequest({ request, ports })
    const database = await findDatabase(tx, caller.tenantId, place)
    if (ports.strict) await requireDeclared(tx, caller.tenantId, place, database, namespace)
    const mapping = database && (await findMapping(tx, database.id, name))
    if (!mapping) fail('ResourceNotFound', { id: mappingId(place, name, namespace) })
    const types = await ports.principals.find(caller.tenantId, [mapping.principalId])
    const answer = ok(renderMapping(mapping, database.place, types, namespace), entityTag(mapping.version))
    return withEnforcement(answer, database, ports, false)
  },
})
