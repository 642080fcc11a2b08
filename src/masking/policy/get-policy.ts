import { ok } from '../../api/operation.ts'
import { defaultLocation, findDeclared } from '../databases/database-row.ts'
import { entityTag } from '../entity-tag.ts'
import { databaseApiVersions, operation, withEnforcement } from '../operation.ts'
import { policyPath, readDatabasePlace, scopeOf } from '../place.ts'
import { siteOf } from '../resource.ts'
import { type Policy, policyAnswer, renderPolicy } from './policy.ts'

export const getPolicy = operation({
  name: 'getPolicy',
  clause: 'MASK-55',
  summary: 'Get the masking policy of a database',
  method: 'GET',
  path: policyPath,
  apiVersions: databaseApiVersions,
  permission: { action: 'Vendor.Sql/servers/databases/dataMaskingPolicies/read', scope: scopeOf },
  answers: { 200: policyAnswer },

  async run(context) {
    const site = siteOf(context)
    const database = await findDeclared(site)
    const fresh: Policy = {
      place: readDatabasePlace(site.params),
      location: defaultLocation,
      policyState: 'Disabled',
      exemptPrincipals: '',
      notContained: 'report',
    }
    const shown = renderPolicy(database ?? fresh, site.namespace, site.apiVersion)
    return withEnforcement(ok(shown, entityTag(database?.policyVersion ?? 0)), database, site.ports, false)
  },
})
