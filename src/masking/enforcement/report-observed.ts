import { Type } from 'typebox'
import { ok } from '../../api/operation.ts'
import { selectObservedTouches } from '../../db/audit.ts'
import { findDeclared } from '../databases/database-row.ts'
import { refuseContent } from '../faults.ts'
import { operation, ownApiVersions, withEnforcement } from '../operation.ts'
import { keyOf, policyPath, readDatabasePlace, scopeOf } from '../place.ts'
import { splitEntries } from '../policy/exempt-entries.ts'
import { siteOf } from '../resource.ts'
import { ruleRows } from '../rules/rule.ts'
import { dateTime } from '../schemas.ts'
import { roleImpacts } from './find-impact.ts'
import { lookInto, noImpact } from './inspection.ts'
import { asEnforced } from './proposed-policy.ts'

const reportAnswer = Type.Object({
  since: dateTime,
  gateway: Type.Array(
    Type.Object({
      role: Type.String(),
      column: Type.String(),
      statements: Type.Integer(),
      last: dateTime,
    }),
    { description: 'Columns that roles read through the gateway and would have seen masked' },
  ),
  roles: roleImpacts,
})

const usualDays = 30

export const reportObserved = operation({
  name: 'reportObserved',
  clause: 'MASK-144',
  summary: 'Say who would have seen masks where, and who would, if the policy were enforced',
  method: 'GET',
  path: `${policyPath}/report`,
  apiVersions: ownApiVersions,
  permission: { action: 'Vendor.Sql/servers/databases/dataMaskingPolicies/impact/action', scope: scopeOf },
  query: Type.Object({
    since: Type.Optional(Type.String({ description: 'A time; 30 days ago unless given' })),
  }),
  answers: { 200: reportAnswer },

  async run(context) {
    const site = siteOf(context)
    const place = readDatabasePlace(site.params)
    const database = await findDeclared(site)
    const since = readSince(context.query.since, database?.createdAt)
    // While the name is free, all touches are those of an earlier database.
    const gateway = database ? await selectObservedTouches(site.tx, site.tenantId, keyOf(place), since) : []
    const { roles } = database?.bound
      ? await site.ports.inspection.findImpact(lookInto(database, context.confirm), {
          rules: (await ruleRows.list(site.tx, database.id)).map(asEnforced),
          exempt: splitEntries(database.exemptPrincipals),
        })
      : noImpact
    return withEnforcement(ok({ since, gateway, roles }), database, site.ports, false)
  },
})

/** Not before the database was created: the audit of an earlier one of the same name is not part of its report. */
function readSince(text: string | undefined, createdAt: Date | undefined): string {
  const time = text === undefined ? Date.now() - usualDays * 86_400_000 : Date.parse(text)
  if (Number.isNaN(time)) refuseContent('since', 'must be a time, such as 2026-11-01T00:00:00Z')
  return new Date(Math.max(time, createdAt?.getTime() ?? 0)).toISOString()
}
