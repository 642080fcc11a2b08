import { ok } from '../../api/operation.ts'
import { fail } from '../../kernel/problem.ts'
import { findDatabase, lockOrCreateDatabase, requireDeclared } from '../databases/database-row.ts'
import { checkConditions, entityTag } from '../entity-tag.ts'
import { apiVersions, namespaceOfRequest, operation, withEnforcement } from '../operation.ts'
import { canonicalNamespace, policyPath, readDatabasePlace, scopeOf } from '../place.ts'
import { policyAnswer, policyInput, policyTarget, renderPolicy } from './policy.ts'

const action = 'Vendor.Sql/servers/databases/dataMaskingPolicies/write'

export const updatePolicy = operation({
  name: 'updatePolicy',
  clause: 'MASK-103',
  summary: 'Set the state and the exempt principals of the masking policy',
  method: 'PUT',
  path: policyPath,
  apiVersions,
  permission: { action, scope: scopeOf },
  body: policyInput,
  answers: { 200: policyAnswer },

  async run({ params, body, caller, tx, request, ports, audit }) {
    const place = readDatabasePlace(params)
    const namespace = namespaceOfRequest({ request, ports })
    const exemptPrincipals = readExemptPrincipals(body.properties.exemptPrincipals ?? '')
    if (ports.strict) {
      const known = await findDatabase(tx, caller.tenantId, place)
      await requireDeclared(tx, caller.tenantId, place, known, namespace)
    }
    const before = await lockOrCreateDatabase(tx, caller.tenantId, place)
    checkConditions(request, before.policyVersion)
    const after = { ...before, policyState: body.properties.dataMaskingState, exemptPrincipals }
    const [row] = await tx<{ version: number }[]>`
      update masked_database set policy_state = ${after.policyState}, policy_state_chosen = true,
        exempt_principals = ${exemptPrincipals}, policy_version = nextval('resource_version')
      where id = ${before.id} returning policy_version as version`
    audit({
      action,
      target: policyTarget(before.place),
      before: renderPolicy(before, canonicalNamespace),
      after: renderPolicy(after, canonicalNamespace),
    })
    const answer = ok(renderPolicy(after, namespace), entityTag(row?.version ?? 0))
    return withEnforcement(answer, before, ports, true)
  },
})

const longestEntry = 320
const mostEntries = 1000
const target = 'properties.exemptPrincipals'

/** One string with semicolons, each entry a database role, or a user or group of the directory. */
export function readExemptPrincipals(text: string): string {
  const entries = text
    .split(';')
    .map((entry) => entry.trim())
    .filter((entry) => entry !== '')
  const unique = [...new Set(entries)]
  const reason =
    unique.length > mostEntries
      ? `may have at most ${mostEntries} entries`
      : unique.some((entry) => entry.length > longestEntry)
        ? `may have entries of at most ${longestEntry} characters`
        : unique.some((entry) => /[\p{Cc}\p{Cs}]/u.test(entry))
          ? 'may not hold control characters'
          : undefined
  if (reason) fail('InvalidRequestContent', { reason: `'${target}' ${reason}.` }, { target })
  return unique.join(';')
}
