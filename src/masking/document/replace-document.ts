import { ok } from '../../api/operation.ts'
import type { Verdict } from '../../contracts/verdict.ts'
import { fail } from '../../kernel/problem.ts'
import { type DatabaseRow, findDeclared, lockOrCreateDatabase } from '../databases/database-row.ts'
import { proposePolicy } from '../enforcement/proposed-policy.ts'
import {
  type Judged,
  judgedBy,
  judgeProposed,
  mayRefuse,
  refuseNotContained,
  requireSame,
} from '../enforcement/refuse-not-contained.ts'
import { renderContainment } from '../enforcement/verdict.ts'
import { checkTag } from '../entity-tag.ts'
import { operation, ownApiVersions, withEnforcement } from '../operation.ts'
import { readDatabasePlace, scopeOf } from '../place.ts'
import { allowSight, describeExemptions, type Exemption } from '../policy/exemptions.ts'
import { type Site, siteOf } from '../resource.ts'
import { ruleParts, ruleRows } from '../rules/rule.ts'
import { checkDocument } from './check-document.ts'
import {
  type CheckedDocument,
  documentAnswer,
  documentInput,
  documentLimits,
  documentPath,
  documentTag,
  renderDocument,
} from './document.ts'
import { compareRules, countChanges, planPolicy, storeDocument } from './store-document.ts'

const action = 'Vendor.Sql/servers/databases/dataMaskingPolicies/write'

interface Prepared {
  readonly judged: Judged
  /** Null: the database is not bound, or cannot be looked into. */
  readonly verdicts: readonly Verdict[] | null
  readonly document: CheckedDocument
  readonly exemptions: readonly Exemption[]
  /** The version of the binding whose catalog the document was checked against. */
  readonly bindingVersion: number
}

export const replaceDocument = operation({
  name: 'replaceMaskingDocument',
  clause: 'MASK-134',
  summary: 'Replace policy, exemptions and rules of a database by those of a document, all or nothing',
  method: 'PUT',
  path: documentPath,
  apiVersions: ownApiVersions,
  permission: { action, scope: scopeOf },
  body: documentInput,
  bodyLimits: documentLimits,
  answers: { 200: documentAnswer },

  async prepare(context): Promise<Prepared> {
    const site = siteOf(context)
    readDatabasePlace(site.params)
    const database = await findDeclared(site)
    const document = await checkDocument(context.body.properties, { ...site, database })
    const stored = document.policy?.exemptPrincipals ?? database?.exemptPrincipals ?? ''
    const maySee = await allowSight(site, stored)
    const exemptions = await describeExemptions(stored, { ...site, database }, maySee)
    const bindingVersion = database?.bindingVersion ?? 0
    const verdicts = await judge(document, database, site, context.confirm)
    return { document, exemptions, bindingVersion, judged: judgedBy(database), verdicts }
  },

  async run(context, { document: sent, exemptions, bindingVersion, judged, verdicts }) {
    const site = siteOf(context)
    const { tx, ports } = site
    const before = await lockOrCreateDatabase(site, action)
    const stored = ruleParts.complete(site, before, await ruleRows.list(tx, before.id))
    checkTag(site.request, documentTag(before.policyVersion, stored).etag)
    if (bindingVersion !== before.bindingVersion)
      fail('Conflict', {
        reason: 'The binding of the database changed meanwhile. Send the request again.',
      })
    requireSame(judged, before, sent.policy?.notContained ?? before.notContained)
    const document = { ...sent, rules: sent.rules ?? stored }
    const { database, rules, change } = await storeDocument(site, context.audit, before, stored, document)
    const body = {
      ...renderDocument(database, rules, exemptions, site),
      changes: countChanges(change),
      containment: renderContainment(verdicts),
    }
    return withEnforcement(ok(body, documentTag(database.policyVersion, rules)), database, ports, true)
  },
})

/** What the masks of a document would not contain. Fails where the setting refuses that. */
async function judge(
  sent: CheckedDocument,
  database: DatabaseRow | null,
  site: Site,
  confirm: () => Promise<void>,
): Promise<readonly Verdict[] | null> {
  if (!database?.bound) return null
  const stored = ruleParts.complete(site, database, await ruleRows.list(site.tx, database.id))
  const document = { ...sent, rules: sent.rules ?? stored }
  const next = planPolicy(database, document, compareRules(stored, document.rules).created.length > 0)
  const after = proposePolicy(next, document.rules)
  const mustHold = mayRefuse({ ...next, before: proposePolicy(database, stored), after })
  const verdicts = await judgeProposed(database, after, site.ports, confirm, mustHold)
  if (mustHold) refuseNotContained(verdicts ?? [])
  return verdicts
}
