import { ok } from '../../api/operation.ts'
import { fail } from '../../kernel/problem.ts'
import { findDeclared, lockOrCreateDatabase } from '../databases/database-row.ts'
import { checkTag } from '../entity-tag.ts'
import { operation, ownApiVersions, withEnforcement } from '../operation.ts'
import { readDatabasePlace, scopeOf } from '../place.ts'
import { allowSight, describeExemptions, type Exemption } from '../policy/exemptions.ts'
import { siteOf } from '../resource.ts'
import { ruleParts, ruleRows } from '../rules/rule.ts'
import { checkDocument } from './check-document.ts'
import {
  documentAnswer,
  documentInput,
  documentLimits,
  documentPath,
  documentTag,
  type MaskingDocument,
  renderDocument,
} from './document.ts'
import { countChanges, storeDocument } from './store-document.ts'

const action = 'Vendor.Sql/servers/databases/dataMaskingPolicies/write'

interface Prepared {
  readonly document: MaskingDocument
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
    return { document, exemptions, bindingVersion: database?.bindingVersion ?? 0 }
  },

  async run(context, { document, exemptions, bindingVersion }) {
    const site = siteOf(context)
    const { tx, ports } = site
    const before = await lockOrCreateDatabase(site, action)
    const stored = ruleParts.complete(site, before, await ruleRows.list(tx, before.id))
    checkTag(site.request, documentTag(before.policyVersion, stored).etag)
    if (bindingVersion !== before.bindingVersion)
      fail('Conflict', {
        reason: 'The binding of the database changed meanwhile. Send the request again.',
      })
    const { database, rules, change } = await storeDocument(site, context.audit, before, stored, document)
    const body = {
      ...renderDocument(database, rules, exemptions, site.namespace),
      changes: countChanges(change),
    }
    return withEnforcement(ok(body, documentTag(database.policyVersion, rules)), database, ports, true)
  },
})
