import { ok } from '../../api/operation.ts'
import { type DatabaseRow, findDeclared, lockOrCreateDatabase } from '../databases/database-row.ts'
import { proposePolicy } from '../enforcement/proposed-policy.ts'
import {
  type Judged,
  judgedBy,
  requireAllContained,
  requireSame,
} from '../enforcement/refuse-not-contained.ts'
import { checkConditions, entityTag } from '../entity-tag.ts'
import { refuseContent } from '../faults.ts'
import { databaseApiVersions, operation, withEnforcement } from '../operation.ts'
import { policyPath, readDatabasePlace, scopeOf } from '../place.ts'
import { auditChange, siteOf } from '../resource.ts'
import { ruleRows } from '../rules/rule.ts'
import { readExemptPrincipals, splitEntries } from './exempt-entries.ts'
import { namesGroup, resolveGroups } from './exemptions.ts'
import { type Policy, policyAnswer, policyInput, readNotContained, renderPolicy } from './policy.ts'
import { recordEntries } from './record-entries.ts'

const action = 'Vendor.Sql/servers/databases/dataMaskingPolicies/write'

export const updatePolicy = operation({
  name: 'updatePolicy',
  clause: 'MASK-103',
  summary: 'Set the state and the exempt principals of the masking policy',
  method: 'PUT',
  path: policyPath,
  apiVersions: databaseApiVersions,
  permission: { action, scope: scopeOf },
  body: policyInput,
  answers: { 200: policyAnswer },

  async prepare(context): Promise<Prepared> {
    const site = siteOf(context)
    readDatabasePlace(site.params)
    const sent = context.body.properties
    const notContained = readNotContained(sent.notContained, site.apiVersion, 'properties.notContained')
    const entries = splitEntries(readExemptPrincipals(sent.exemptPrincipals ?? ''))
    const database = await findDeclared(site)
    const resolved = entries.some(namesGroup)
      ? await resolveGroups(entries, { ...site, database, refuse })
      : entries
    const exemptPrincipals = readExemptPrincipals(resolved.join(';'))
    const policyState = sent.dataMaskingState
    const change = { policyState, exemptPrincipals, ...(notContained && { notContained }) }
    if (database) {
      const rules = await ruleRows.list(site.tx, database.id)
      const next = { ...database, ...change }
      const before = proposePolicy(database, rules)
      const masks = { notContained: next.notContained, before, after: proposePolicy(next, rules) }
      await requireAllContained(database, masks, site, context.confirm)
    }
    return { change, judged: judgedBy(database) }
  },

  async run(context, { change, judged }) {
    const site = siteOf(context)
    const { tx, ports } = site
    if (ports.strict) await findDeclared(site)
    const before = await lockOrCreateDatabase(site, action)
    checkConditions(site.request, before.policyVersion)
    const after = { ...before, ...change }
    requireSame(judged, before, after.notContained)
    const [row] = await tx<{ version: number }[]>`
      update masked_database set policy_state = ${after.policyState}, policy_state_chosen = true,
        exempt_principals = ${after.exemptPrincipals}, not_contained = ${after.notContained},
        policy_version = nextval('resource_version')
      where id = ${before.id} returning policy_version as version`
    await recordEntries(site, before, after)
    const render = (policy: Policy, namespace: string) => renderPolicy(policy, namespace, site.apiVersion)
    auditChange(context.audit, action, render, before, after)
    const answer = ok(render(after, site.namespace), entityTag(row?.version ?? 0))
    return withEnforcement(answer, before, ports, true)
  },
})

interface Prepared {
  readonly change: Pick<DatabaseRow, 'policyState' | 'exemptPrincipals'> &
    Partial<Pick<DatabaseRow, 'notContained'>>
  readonly judged: Judged
}

function refuse(_at: number, reason: string): never {
  return refuseContent('properties.exemptPrincipals', `has an entry that ${reason}`)
}
