import { ok } from '../../api/operation.ts'
import { findDeclared } from '../databases/database-row.ts'
import { operation, ownApiVersions, withEnforcement } from '../operation.ts'
import { readDatabasePlace, scopeOf } from '../place.ts'
import { allowSight, describeExemptions } from '../policy/exemptions.ts'
import { siteOf } from '../resource.ts'
import { ruleRows } from '../rules/rule.ts'
import { documentAnswer, documentPath, documentTag, renderDocument } from './document.ts'

export const getDocument = operation({
  name: 'getMaskingDocument',
  clause: 'MASK-133',
  summary: 'Get the policy, the exemptions and the rules of a database as one document',
  method: 'GET',
  path: documentPath,
  apiVersions: ownApiVersions,
  permission: { action: 'Vendor.Sql/servers/databases/dataMaskingPolicies/read', scope: scopeOf },
  answers: { 200: documentAnswer },

  async run(context) {
    const site = siteOf(context)
    const database = await findDeclared(site)
    const rules = database ? await ruleRows.list(site.tx, database.id) : []
    const fresh = {
      place: readDatabasePlace(site.params),
      policyState: 'Disabled' as const,
      policyMode: 'Enforce' as const,
      exemptPrincipals: '',
      notContained: 'report' as const,
    }
    const entries = database?.exemptPrincipals ?? ''
    const maySee = await allowSight(site, entries)
    const exemptions = await describeExemptions(entries, { ...site, database }, maySee)
    const shown = renderDocument(database ?? fresh, rules, exemptions, site)
    const tag = documentTag(database?.policyVersion ?? 0, rules)
    return withEnforcement(ok(shown, tag), database, site.ports, false)
  },
})
