import { Type } from 'typebox'
import { ok } from '../../api/operation.ts'
import { findDatabase } from '../databases/database-row.ts'
import { apiVersions, operation, withEnforcement } from '../operation.ts'
import { policyPath, readDatabasePlace, scopeOf } from '../place.ts'
import { columnFields, maskingFunctions } from '../rules/rule-fields.ts'
import { each, nullableString, oneOf } from '../schemas.ts'
import { keepCount } from './counted-findings.ts'
import { closedExposure, concernedObjects, keepExposures, severities } from './found-exposures.ts'
import { lookInto } from './inspection.ts'

const suggestedRule = Type.Object({
  ...each(columnFields, Type.String()),
  maskingFunction: oneOf(maskingFunctions),
})

const consequences = Type.Object({
  affects: Type.String(),
  undo: nullableString,
  isDangerous: Type.Boolean(),
  alternative: nullableString,
})

const exposure = Type.Object(
  {
    code: Type.String(),
    severity: oneOf(severities),
    objects: concernedObjects,
    roles: Type.Array(
      Type.String({ description: 'Database roles that can go this way; none: not tied to roles' }),
    ),
    explanation: Type.String(),
    remedy: Type.Unsafe<string | null>({ type: ['string', 'null'], description: 'SQL that closes it' }),
    consequences: Type.Union([consequences, Type.Null()]),
    rule: Type.Union([suggestedRule, Type.Null()], { description: 'A rule that closes it' }),
  },
  { title: 'exposure' },
)

export const listExposures = operation({
  name: 'listExposures',
  clause: 'MASK-110',
  summary: 'List the ways around the masks that are still open, with what closes each',
  method: 'GET',
  path: `${policyPath}/exposures`,
  apiVersions,
  permission: { action: 'Vendor.Sql/servers/databases/dataMaskingPolicies/read', scope: scopeOf },
  answers: {
    200: Type.Object({
      value: Type.Array(exposure),
      closed: Type.Array(closedExposure, { description: 'Found by an earlier look, the last closed first' }),
    }),
  },

  async run({ params, caller, tx, ports, confirm }) {
    const database = await findDatabase(tx, caller.tenantId, readDatabasePlace(params))
    if (!database?.bound) return withEnforcement(ok({ value: [], closed: [] }), database, ports, false)
    const value = await ports.inspection.findExposures(lookInto(database, confirm))
    await keepCount(tx, database.id, 'exposure', value)
    const closed = await keepExposures(tx, database.id, value)
    return withEnforcement(ok({ value, closed }), database, ports, false)
  },
})
