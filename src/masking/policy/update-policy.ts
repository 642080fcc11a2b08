import { ok } from '../../api/operation.ts'
import { findDeclared, lockOrCreateDatabase } from '../databases/database-row.ts'
import { checkConditions, entityTag } from '../entity-tag.ts'
import { refuseContent } from '../faults.ts'
import { operation, originalApiVersions, withEnforcement } from '../operation.ts'
import { policyPath, readDatabasePlace, scopeOf } from '../place.ts'
import { auditChange, siteOf } from '../resource.ts'
import { readExemptPrincipals, splitEntries } from './exempt-entries.ts'
import { namesGroup, resolveGroups } from './exemptions.ts'
import { policyAnswer, policyInput, renderPolicy } from './policy.ts'
import { recordEntries } from './record-entries.ts'

const action = 'Vendor.Sql/servers/databases/dataMaskingPolicies/write'

export const updatePolicy = operation({
  name: 'updatePolicy',
  clause: 'MASK-103',
  summary: 'Set the state and the exempt principals of the masking policy',
  method: 'PUT',
  path: policyPath,
  apiVersions: originalApiVersions,
  permission: { action, scope: scopeOf },
  body: policyInput,
  answers: { 200: policyAnswer },

  async prepare(context): Promise<string> {
    const site = siteOf(context)
    readDatabasePlace(site.params)
    const entries = splitEntries(readExemptPrincipals(context.body.properties.exemptPrincipals ?? ''))
    if (!entries.some(namesGroup)) return entries.join(';')
    const place = { ...site, database: await findDeclared(site) }
    return readExemptPrincipals((await resolveGroups(entries, { ...place, refuse })).join(';'))
  },

  async run(context, exemptPrincipals) {
    const site = siteOf(context)
    const { tx, ports } = site
    const { dataMaskingState } = context.body.properties
    if (ports.strict) await findDeclared(site)
    const before = await lockOrCreateDatabase(site, action)
    checkConditions(site.request, before.policyVersion)
    const after = { ...before, policyState: dataMaskingState, exemptPrincipals }
    const [row] = await tx<{ version: number }[]>`
      update masked_database set policy_state = ${after.policyState}, policy_state_chosen = true,
        exempt_principals = ${exemptPrincipals}, policy_version = nextval('resource_version')
      where id = ${before.id} returning policy_version as version`
    await recordEntries(site, before, after)
    auditChange(context.audit, action, renderPolicy, before, after)
    const answer = ok(renderPolicy(after, site.namespace), entityTag(row?.version ?? 0))
    return withEnforcement(answer, before, ports, true)
  },
})

function refuse(_at: number, reason: string): never {
  return refuseContent('properties.exemptPrincipals', `has an entry that ${reason}`)
}
