import { Type } from 'typebox'
import { ok } from '../../api/operation.ts'
import { findDeclared } from '../databases/database-row.ts'
import { checkDocument } from '../document/check-document.ts'
import { changeCounts, documentLimits, documentProperties } from '../document/document.ts'
import { compareRules, countChanges, planPolicy } from '../document/store-document.ts'
import { operation, ownApiVersions, withEnforcement } from '../operation.ts'
import { policyPath, readDatabasePlace, scopeOf } from '../place.ts'
import { allowSight, describeExemptions, exemptionAnswer } from '../policy/exemptions.ts'
import { siteOf } from '../resource.ts'
import { ruleParts, ruleRows } from '../rules/rule.ts'
import { nullableString, strict } from '../schemas.ts'
import { lookInto, noImpact } from './inspection.ts'
import { proposePolicy } from './proposed-policy.ts'
import { proposedContainment, renderContainment } from './verdict.ts'

const session = {
  pid: Type.Integer(),
  role: Type.String(),
  application: Type.String(),
  address: nullableString,
  since: nullableString,
}

const lostRelation = Type.Object({
  relation: Type.String(),
  kind: Type.String(),
  columns: Type.Array(Type.String()),
  twin: Type.Unsafe<string | null>({
    type: ['string', 'null'],
    description: 'The view that shows it masked; null: the role is denied',
  }),
})

export const roleImpacts = Type.Array(
  Type.Object({
    role: Type.String(),
    canLogIn: Type.Boolean(),
    sessions: Type.Array(Type.Object(session)),
    relations: Type.Array(lostRelation),
    functions: Type.Array(Type.Object({ name: Type.String(), runsAsOwner: Type.Boolean() })),
  }),
  { description: 'Roles that would lose raw values, those with live sessions first' },
)

const impactAnswer = Type.Object(
  {
    changes: changeCounts,
    exemptions: Type.Array(exemptionAnswer),
    containment: proposedContainment,
    roles: roleImpacts,
    ended: Type.Array(Type.Object({ ...session, reason: Type.String() })),
    reading: Type.Array(Type.Object({ ...session, statement: Type.String() }), {
      description: 'Sessions that may go on reading raw values by a cursor which is open now',
    }),
    closed: Type.Array(Type.Object({ relation: Type.String(), reason: Type.String() })),
    statements: Type.Array(Type.Object({ sql: Type.String(), why: Type.String() })),
    notes: Type.Array(Type.Object({ code: Type.String(), target: Type.String(), message: Type.String() })),
  },
  { title: 'impact' },
)

export const findImpact = operation({
  name: 'findImpact',
  clause: 'MASK-137',
  summary: 'Say what proposed rules and a proposed policy would do to roles and sessions, and change nothing',
  method: 'POST',
  reads: true,
  path: `${policyPath}/impact`,
  apiVersions: ownApiVersions,
  // It shows sessions of people and applications: the permission to read policies is not enough.
  permission: { action: 'Vendor.Sql/servers/databases/dataMaskingPolicies/impact/action', scope: scopeOf },
  body: Type.Object(
    {
      properties: Type.Optional(documentProperties),
    },
    { ...strict, title: 'proposal', examples: [{ properties: { policy: { dataMaskingState: 'Enabled' } } }] },
  ),
  bodyLimits: documentLimits,
  answers: { 200: impactAnswer },

  async run(context) {
    const site = siteOf(context)
    readDatabasePlace(site.params)
    const database = await findDeclared(site)
    const checked = await checkDocument(context.body.properties ?? {}, { ...site, database })
    const stored = database
      ? ruleParts.complete(site, database, await ruleRows.list(site.tx, database.id))
      : []
    const document = { ...checked, rules: checked.rules ?? stored }
    const change = compareRules(stored, document.rules)
    const { inspection } = site.ports
    const next = database && planPolicy(database, document, change.created.length > 0)
    const proposed = proposePolicy(next, document.rules)
    const look = database?.bound && lookInto(database, context.confirm)
    const impact = look ? await inspection.findImpact(look, proposed) : noImpact
    const verdicts = look ? await inspection.findVerdicts(look, proposed) : null
    const entries = document.policy?.exemptPrincipals ?? database?.exemptPrincipals ?? ''
    const maySee = await allowSight(site, database?.exemptPrincipals ?? '')
    const exemptions = await describeExemptions(entries, { ...site, database }, maySee)
    const containment = renderContainment(verdicts)
    const body = { changes: countChanges(change), exemptions, containment, ...impact }
    return withEnforcement(ok(body), database, site.ports, false)
  },
})
