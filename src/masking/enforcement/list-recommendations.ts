import { Type } from 'typebox'
import { ok } from '../../api/operation.ts'
import type { Recommendation } from '../../contracts/inspection.ts'
import { findDatabase } from '../databases/database-row.ts'
import { apiVersions, operation, withEnforcement } from '../operation.ts'
import { policyPath, readDatabasePlace, scopeOf } from '../place.ts'
import { ruleRows } from '../rules/rule.ts'
import { columnFields, maskFields, maskingFunctions, pick } from '../rules/rule-fields.ts'
import { each, nullableString, oneOf } from '../schemas.ts'
import { keepCount } from './counted-findings.ts'
import { asColumnPlace, lookInto } from './inspection.ts'

const recommendation = Type.Object(
  {
    ...each(columnFields, Type.String()),
    kind: Type.String(),
    confidence: Type.Number({ minimum: 0, maximum: 1 }),
    reasons: Type.Array(Type.String()),
    maskingFunction: oneOf(maskingFunctions),
    ...each(maskFields, nullableString),
  },
  { title: 'recommendation' },
)

export const listRecommendations = operation({
  name: 'listRecommendations',
  clause: 'MASK-111',
  summary: 'List columns without a rule that look sensitive, with the mask that suits each',
  method: 'GET',
  path: `${policyPath}/recommendations`,
  apiVersions,
  permission: { action: 'Vendor.Sql/servers/databases/dataMaskingPolicies/read', scope: scopeOf },
  answers: { 200: Type.Object({ value: Type.Array(recommendation) }) },

  async run({ params, caller, tx, ports, confirm }) {
    const database = await findDatabase(tx, caller.tenantId, readDatabasePlace(params))
    if (!database?.bound) return withEnforcement(ok({ value: [] }), database, ports, false)
    const rules = await ruleRows.list(tx, database.id)
    const found = await ports.inspection.recommend(lookInto(database, confirm), rules.map(asColumnPlace))
    await keepCount(tx, database.id, 'recommendation', found)
    return withEnforcement(ok({ value: found.map(render) }), database, ports, false)
  },
})

function render({ schema, table, column, kind, confidence, reasons, suggestion }: Recommendation) {
  return {
    schemaName: schema,
    tableName: table,
    columnName: column,
    kind,
    confidence,
    reasons,
    maskingFunction: suggestion.maskingFunction,
    ...pick({ ...each(maskFields, null), ...suggestion }, maskFields),
  }
}
