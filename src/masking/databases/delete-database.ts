import { noContent } from '../../api/operation.ts'
import { checkConditions } from '../entity-tag.ts'
import { operation, resourceApiVersions } from '../operation.ts'
import { canonicalNamespace, databasePath, readDatabasePlace, scopeOf } from '../place.ts'
import { renderPolicy } from '../policy/policy.ts'
import { renderMapping } from '../role-mappings/mapping.ts'
import { selectMappings } from '../role-mappings/mapping-row.ts'
import { renderRule } from '../rules/rule.ts'
import { selectRules } from '../rules/rule-row.ts'
import { databaseTarget, renderDatabase } from './database.ts'
import { lockDatabase } from './database-row.ts'
import { refuseWhileMasked } from './refuse-while-masked.ts'

const action = 'Vendor.Sql/servers/databases/delete'

export const deleteDatabase = operation({
  name: 'deleteDatabase',
  clause: 'MASK-107',
  summary: 'Delete a database with its rules, mappings, policy and binding; 204 when there was none',
  method: 'DELETE',
  path: databasePath,
  apiVersions: resourceApiVersions,
  permission: { action, scope: scopeOf },
  answers: { 200: null, 204: null },

  async run({ params, caller, tx, request, ports, audit }) {
    const database = await lockDatabase(tx, caller.tenantId, readDatabasePlace(params))
    checkConditions(request, database?.version ?? null)
    if (!database) return noContent
    await refuseWhileMasked(tx, database)
    const rules = await selectRules(tx, database.id)
    const mappings = await selectMappings(tx, database.id)
    const principals = mappings.map(({ principalId }) => principalId)
    const types = await ports.principals.find(caller.tenantId, principals)
    await tx`delete from masked_database where id = ${database.id}`
    audit({
      action,
      target: databaseTarget(database.place),
      before: {
        ...renderDatabase(database, canonicalNamespace),
        policy: renderPolicy(database, canonicalNamespace),
        rules: rules.map((rule) => renderRule(rule, database, canonicalNamespace)),
        roleMappings: mappings.map((each) => renderMapping(each, database.place, types, canonicalNamespace)),
      },
    })
    return { status: 200 }
  },
})
