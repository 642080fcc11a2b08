import { noContent } from '../../api/operation.ts'
import type { Query } from '../../db/query.ts'
import { fail } from '../../kernel/problem.ts'
import { checkConditions } from '../entity-tag.ts'
import { databaseApiVersions, operation, withoutBinding } from '../operation.ts'
import { type DatabasePlace, databasePath, readDatabasePlace, scopeOf } from '../place.ts'
import { renderPolicy } from '../policy/policy.ts'
import { auditChange, siteOf } from '../resource.ts'
import { lockAssignments, requireRole } from '../role-assignments/confirm-role.ts'
import { endAssignments } from '../role-assignments/end-assignments.ts'
import { mappingKind } from '../role-mappings/mapping.ts'
import { ruleKind } from '../rules/rule.ts'
import { renderDatabase } from './database.ts'
import { type DatabaseRow, findDatabase } from './database-row.ts'
import { refuseWhileMasked } from './refuse-while-masked.ts'

const action = 'Vendor.Sql/servers/databases/delete'

export const deleteDatabase = operation({
  name: 'deleteDatabase',
  clause: 'MASK-107',
  summary:
    'Delete a database with its rules, mappings, policy, binding and role assignments; 204 when there was none',
  method: 'DELETE',
  path: databasePath,
  apiVersions: databaseApiVersions,
  permission: { action, scope: scopeOf },
  answers: { 200: null, 204: null },

  async run(context) {
    const site = siteOf(context)
    const { tx, tenantId } = site
    const place = readDatabasePlace(site.params)
    const database = await findDatabase(tx, tenantId, place, true)
    await requireRole(site, action)
    checkConditions(site.request, database?.version ?? null)
    if (database) await refuseWhileMasked(tx, database)
    else await refuseCreatedMeanwhile(tx, tenantId, place)
    await endAssignments(site, context.audit, place)
    if (!database) return noContent
    const all = { after: '', limit: 0, filter: undefined }
    const rules = await ruleKind.list(site, database, all)
    const mappings = await mappingKind.list(site, database, all)
    await tx`delete from masked_database where id = ${database.id}`
    const renderWhole = (row: DatabaseRow, namespace: string) => ({
      ...renderDatabase(row, namespace),
      policy: renderPolicy(row, namespace),
      rules: rules.map((rule) => ruleKind.render(rule, namespace)),
      roleMappings: mappings.map((mapping) => mappingKind.render(mapping, namespace)),
    })
    auditChange(context.audit, action, renderWhole, database, undefined)
    return database.bound ? withoutBinding({ status: 200 }, database.id, site.ports) : { status: 200 }
  },
})

/**
 * The role assignments here are those of a database that was created since it was looked for. It is not deleted in its place: other
 * requests lock its row first and assignments second.
 */
async function refuseCreatedMeanwhile(tx: Query, tenantId: string, place: DatabasePlace): Promise<void> {
  await lockAssignments(tx)
  if (await findDatabase(tx, tenantId, place))
    fail('Conflict', { reason: 'The database was created meanwhile.' })
}
