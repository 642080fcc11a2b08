import type { AuditEntry } from '../../api/operation.ts'
import type { Query } from '../../db/query.ts'
import type { DatabaseRow } from '../databases/database-row.ts'
import { auditChange } from '../resource.ts'
import { renderPolicy } from './policy.ts'

/** A new rule enables a policy whose state no caller has chosen. Returns the database as it is then. */
export async function enableByRule(
  tx: Query,
  audit: (entry: AuditEntry) => void,
  database: DatabaseRow,
): Promise<DatabaseRow> {
  if (database.policyStateChosen || database.policyState === 'Enabled') return database
  const [row] = await tx<{ version: number }[]>`
    update masked_database set policy_state = 'Enabled', policy_version = nextval('resource_version')
    where id = ${database.id} returning policy_version as version`
  const after = { ...database, policyState: 'Enabled' as const, policyVersion: row?.version ?? 0 }
  const action = 'Vendor.Sql/servers/databases/dataMaskingPolicies/write'
  auditChange(audit, action, renderPolicy, database, after)
  return after
}
