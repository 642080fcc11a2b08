import { Type } from 'typebox'
import { ok } from '../../api/operation.ts'
import { findDatabase } from '../databases/database-row.ts'
import { apiVersions, operation, withEnforcement } from '../operation.ts'
import { policyPath, readDatabasePlace, scopeOf } from '../place.ts'
import { enforcementAnswer, reportOf } from './enforcement.ts'
import { lookInto } from './inspection.ts'

export const getEnforcement = operation({
  name: 'getEnforcement',
  clause: 'MASK-109',
  summary: 'Say whether the masks of a database are in place, and what would be done now',
  method: 'GET',
  path: `${policyPath}/enforcement`,
  apiVersions,
  permission: { action: 'Vendor.Sql/servers/databases/dataMaskingPolicies/read', scope: scopeOf },
  query: Type.Object({ plan: Type.Optional(Type.String({ description: '`true`: a dry run' })) }),
  answers: { 200: enforcementAnswer },

  async run({ params, query, caller, tx, ports, confirm }) {
    const database = await findDatabase(tx, caller.tenantId, readDatabasePlace(params))
    const report = await reportOf(database, ports.enforcement)
    const isPlanned = database?.bound && query.plan === 'true'
    const plan = isPlanned ? await ports.inspection.plan(lookInto(database, confirm)) : undefined
    const statements = plan?.map(({ sql, why }) => ({ sql, why }))
    const answer = ok({ ...report, ...(statements && { plan: statements }) })
    return withEnforcement(answer, database, ports, false)
  },
})
