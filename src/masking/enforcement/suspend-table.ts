import { Type } from 'typebox'
import { noContent } from '../../api/operation.ts'
import { fail } from '../../kernel/problem.ts'
import { findDatabase } from '../databases/database-row.ts'
import { apiVersions, operation, withEnforcement } from '../operation.ts'
import { canonicalNamespace, fillPath, idOf, policyPath, readDatabasePlace, scopeOf } from '../place.ts'
import { siteOf } from '../resource.ts'
import { requireRole } from '../role-assignments/confirm-role.ts'
import { strict } from '../schemas.ts'

const action = 'Vendor.Sql/servers/databases/dataMaskingPolicies/write'

/** A twin keeps ALTER TYPE and DROP COLUMN from its table. Without it nothing is unmasked: the columns stay denied. */
export const suspendTable = switchTable(
  'suspend',
  'Take the twin off a table for a migration, without unmasking anything',
)

export const resumeTable = switchTable('resume', 'Put the twin of a suspended table back')

function switchTable(verb: 'suspend' | 'resume', summary: string) {
  return operation({
    name: `${verb}Table`,
    clause: 'ENF',
    summary,
    method: 'POST',
    path: `${policyPath}/${verb}`,
    apiVersions,
    permission: { action, scope: scopeOf },
    body: Type.Object({ schemaName: Type.String(), tableName: Type.String() }, strict),
    answers: { 204: null },

    async run(context) {
      const site = siteOf(context)
      const { tx, tenantId, params, namespace, ports } = site
      const place = readDatabasePlace(params)
      const database = await findDatabase(tx, tenantId, place)
      if (!database) fail('ResourceNotFound', { id: idOf(place, namespace) })
      const { schemaName, tableName } = context.body
      if (verb === 'suspend')
        await tx`
          insert into suspension (database_id, schema_name, table_name)
          values (${database.id}, ${schemaName}, ${tableName}) on conflict do nothing`
      else
        await tx`
          delete from suspension where database_id = ${database.id}
            and schema_name = ${schemaName} and table_name = ${tableName}`
      await requireRole(site, action)
      context.audit({
        action: `${verb}Table`,
        target: fillPath(policyPath, { ...place }, canonicalNamespace),
        [verb === 'suspend' ? 'after' : 'before']: context.body,
      })
      return withEnforcement(noContent, database, ports, true)
    },
  })
}
