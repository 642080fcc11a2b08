import { Type } from 'typebox'
import { ok } from '../../api/operation.ts'
import { findDatabase, requireDeclared } from '../databases/database-row.ts'
import { apiVersions, namespaceOfRequest, operation, withEnforcement } from '../operation.ts'
import { policyPath, readDatabasePlace, scopeOf } from '../place.ts'
import { renderRule, ruleAnswer } from './rule.ts'
import { selectRules } from './rule-row.ts'

export const listRules = operation({
  name: 'listRules',
  clause: 'MASK-54',
  summary: 'List the masking rules of a database',
  method: 'GET',
  path: `${policyPath}/rules`,
  apiVersions,
  permission: { action: 'Vendor.Sql/servers/databases/dataMaskingPolicies/rules/read', scope: scopeOf },
  answers: { 200: Type.Object({ value: Type.Array(ruleAnswer) }) },

  async run({ params, caller, tx, request, ports }) {
    const place = readDatabasePlace(params)
    const namespace = namespaceOfRequest({ request, ports })
    const database = await findDatabase(tx, caller.tenantId, place)
    if (ports.strict) await requireDeclared(tx, caller.tenantId, place, database, namespace)
    const rules = database ? await selectRules(tx, database.id) : []
    const value = database ? rules.map((rule) => renderRule(rule, database, namespace)) : []
    return withEnforcement(ok({ value }), database, ports, false)
  },
})
