import type { Answer } from '../../api/operation.ts'
import { lockRightsToGive } from '../../auth/rights-lock.ts'
import { fail } from '../../kernel/problem.ts'
import { storeChild } from '../children.ts'
import { findDeclared, lockOrCreateDatabase } from '../databases/database-row.ts'
import { requireContained } from '../enforcement/refuse-not-contained.ts'
import { checkConditions } from '../entity-tag.ts'
import { apiVersions, operation, withEnforcement } from '../operation.ts'
import { checkFreeName, readDatabasePlace, scopeOf } from '../place.ts'
import { siteOf } from '../resource.ts'
import {
  describedMapping,
  type Mapping,
  type MappingProperties,
  mappingAnswer,
  mappingInput,
  mappingKind,
  mappingParts,
  mappingPath,
} from './mapping.ts'
import { checkAgainstDatabase, validateMapping } from './validate-mapping.ts'

const action = `${mappingKind.action}/write`

export const createOrUpdateRoleMapping = operation({
  name: 'createOrUpdateRoleMapping',
  clause: 'GATE-20',
  summary: 'Give a database role to a user, a service principal or the people of a group',
  method: 'PUT',
  path: mappingPath,
  apiVersions,
  permission: { action, scope: scopeOf },
  body: mappingInput,
  describedBody: describedMapping,
  answers: { 200: mappingAnswer, 201: mappingAnswer },

  async prepare(context): Promise<Prepared> {
    const site = siteOf(context)
    readDatabasePlace(site.params)
    checkFreeName(site.params, mappingParts.parameter)
    const properties = await validateMapping(context.body.properties ?? {}, site)
    const database = await findDeclared(site)
    if (database?.bound) {
      await checkAgainstDatabase(properties, database, site)
      await requireContained(properties.databaseRole, database, site, context.confirm)
    }
    return { properties, checkedBinding: database?.bindingVersion ?? 0 }
  },

  async run(context, { properties, checkedBinding }): Promise<Answer> {
    const site = siteOf(context)
    const name = checkFreeName(site.params, mappingParts.parameter)
    const database = await lockOrCreateDatabase(site, action)
    const before = await mappingKind.find(site, database, true)
    checkConditions(site.request, before?.version ?? null)
    if (checkedBinding !== database.bindingVersion)
      fail('Conflict', { reason: 'The binding of the database changed meanwhile. Send the request again.' })
    await lockRightsToGive(site.tx)
    const answer = await storeChild<MappingProperties, Mapping>(site, context.audit, {
      kind: mappingKind,
      parts: mappingParts,
      database,
      name,
      before,
      properties,
      explainHolder: (holder) =>
        `The principal has this role already, by the mapping '${holder}'. Change that one, or delete it first.`,
    })
    return withEnforcement(answer, database, site.ports, true)
  },
})

interface Prepared {
  readonly properties: MappingProperties
  /** The version of the binding in whose database the role was looked at. */
  readonly checkedBinding: number
}
