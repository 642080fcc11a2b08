import { ok } from '../../api/operation.ts'
import { fail } from '../../kernel/problem.ts'
import { findDatabase, requireDeclared } from '../databases/database-row.ts'
import { entityTag } from '../entity-tag.ts'
import { apiVersions, namespaceOfRequest, operation, withEnforcement } from '../operation.ts'
import { policyPath, readDatabasePlace, scopeOf } from '../place.ts'
import { renderRule, ruleAnswer, ruleId } from './rule.ts'
import { readRuleName } from './rule-name.ts'
import { findRule } from './rule-row.ts'

export const getRule = operation({
  name: 'getRule',
  clause: 'MASK-106',
  summary: 'Get one masking rule',
  method: 'GET',
  path: `${policyPath}/rules/:dataMaskingRuleName`,
  apiVersions,
  permission: { action: 'Vendor.Sql/servers/databases/dataMaskingPolicies/rules/read', scope: scopeOf },
  answers: { 200: ruleAnswer },

  async run({ params, caller, tx, request, ports }) {
    const place = readDatabasePlace(params)
    const name = readRuleName(params)
    const namespace = namespaceOfRequest({ request, ports })
    const database = await findDatabase(tx, caller.tenantId, place)
    if (ports.strict) await requireDeclared(tx, caller.tenantId, place, database, namespace)
    const rule = database && (await findRule(tx, database.id, name))
    if (!rule) fail('ResourceNotFound', { id: ruleId(place, name, namespace) })
    const answer = ok(renderRule(rule, database, namespace), entityTag(rule.version))
    return withEnforcement(answer, database, ports, false)
  },
})
