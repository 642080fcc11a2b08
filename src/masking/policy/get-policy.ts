import { ok } from '../../api/operation.ts'
import { defaultLocation, findDatabase, requireDeclared } from '../databases/database-row.ts'
import { entityTag } from '../entity-tag.ts'
import { apiVersions, namespaceOfRequest, operation, withEnforcement } from '../operation.ts'
import { policyPath, readDatabasePlace, scopeOf } from '../place.ts'
import { type Policy, policyAnswer, renderPolicy } from './policy.ts'

export const getPolicy = operation({
  name: 'getPolicy',
  clause: 'MASK-55',
  summary: 'Get the masking policy of a database',
  method: 'GET',
  path: policyPath,
  apiVersions,
  permission: { action: 'Vendor.Sql/servers/databases/dataMaskingPolicies/read', scope: scopeOf },
  answers: { 200: policyAnswer },

  async run({ params, caller, tx, request, ports }) {
    const place = readDatabasePlace(params)
    const namespace = namespaceOfRequest({ request, ports })
    const database = await findDatabase(tx, caller.tenantId, place)
    if (ports.strict) await requireDeclared(tx, caller.tenantId, place, database, namespace)
    const fresh: Policy = { place, location: defaultLocation, policyState: 'Disabled', exemptPrincipals: '' }
    const answer = ok(renderPolicy(database ?? fresh, namespace), entityTag(database?.policyVersion ?? 0))
    return withEnforcement(answer, database, ports, false)
  },
})
