import { noContent } from '../../api/operation.ts'
import { lockDatabase, requireDeclared } from '../databases/database-row.ts'
import { checkConditions } from '../entity-tag.ts'
import { apiVersions, namespaceOfRequest, operation, withEnforcement } from '../operation.ts'
import { canonicalNamespace, policyPath, readDatabasePlace, scopeOf } from '../place.ts'
import { renderRule, ruleTarget } from './rule.ts'
import { readRuleName } from './rule-name.ts'
import { findRule, removeRule } from './rule-row.ts'

const action = 'Vendor.Sql/servers/databases/dataMaskingPolicies/rules/delete'

export const deleteRule = operation({
  name: 'deleteRule',
  clause: 'MASK-106',
  summary: 'Delete one masking rule; 204 when there was none',
  method: 'DELETE',
  path: `${policyPath}/rules/:dataMaskingRuleName`,
  apiVersions,
  permission: { action, scope: scopeOf },
  answers: { 200: null, 204: null },

  async run({ params, caller, tx, request, ports, audit }) {
    const place = readDatabasePlace(params)
    const name = readRuleName(params)
    const database = await lockDatabase(tx, caller.tenantId, place)
    if (ports.strict)
      await requireDeclared(tx, caller.tenantId, place, database, namespaceOfRequest({ request, ports }))
    const rule = database && (await findRule(tx, database.id, name))
    checkConditions(request, rule?.version ?? null)
    if (!rule) return withEnforcement(noContent, database, ports, false)
    await removeRule(tx, database.id, name)
    audit({
      action,
      target: ruleTarget(database.place, rule.name),
      before: renderRule(rule, database, canonicalNamespace),
    })
    return withEnforcement({ status: 200 }, database, ports, true)
  },
})
