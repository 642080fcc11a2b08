import { Type } from 'typebox'
import { noContent } from '../../api/operation.ts'
import { fail } from '../../kernel/problem.ts'
import { findDatabase } from '../databases/database-row.ts'
import { apiVersions, namespaceOfRequest, operation, withEnforcement } from '../operation.ts'
import { idOf, policyPath, readDatabasePlace, scopeOf } from '../place.ts'
import { policyTarget } from '../policy/policy.ts'

const body = Type.Object(
  { schemaName: Type.String(), tableName: Type.String() },
  { additionalProperties: false },
)
const permission = { action: 'Vendor.Sql/servers/databases/dataMaskingPolicies/write', scope: scopeOf }

const common = { method: 'POST', apiVersions, permission, body, answers: { 204: null } } as const

/** A twin keeps ALTER TYPE and DROP COLUMN from its table. Without it nothing is unmasked: the columns stay denied. */
export const suspendTable = operation({
  ...common,
  name: 'suspendTable',
  clause: 'ENF',
  summary: 'Take the twin off a table for a migration, without unmasking anything',
  path: `${policyPath}/suspend`,
  async run({ params, body, caller, tx, request, audit, ports }) {
    const place = readDatabasePlace(params)
    const database = await findDatabase(tx, caller.tenantId, place)
    if (!database) fail('ResourceNotFound', { id: idOf(place, namespaceOfRequest({ request, ports })) })
    await tx`
      insert into suspension (database_id, schema_name, table_name)
      values (${database.id}, ${body.schemaName}, ${body.tableName}) on conflict do nothing`
    audit({ action: 'suspendTable', target: policyTarget(place), after: body })
    return withEnforcement(noContent, database, ports, true)
  },
})

export const resumeTable = operation({
  ...common,
  name: 'resumeTable',
  clause: 'ENF',
  summary: 'Put the twin of a suspended table back',
  path: `${policyPath}/resume`,
  async run({ params, body, caller, tx, request, audit, ports }) {
    const place = readDatabasePlace(params)
    const database = await findDatabase(tx, caller.tenantId, place)
    if (!database) fail('ResourceNotFound', { id: idOf(place, namespaceOfRequest({ request, ports })) })
    await tx`
      delete from suspension where database_id = ${database.id}
        and schema_name = ${body.schemaName} and table_name = ${body.tableName}`
    audit({ action: 'resumeTable', target: policyTarget(place), before: body })
    return withEnforcement(noContent, database, ports, true)
  },
})
