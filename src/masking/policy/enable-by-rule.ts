import type { AuditEntry } from '../../api/operation.ts'
import type { Query } from '../../db/query.ts'
import type { DatabaseRow } from '../databases/database-row.ts'
import { auditChange } from '../resource.ts'
import { renderPolicy } from './policy.ts'

/** A new rule enables a policy whose state no caller has chosen. */
export async function enableByRule(
  tx: Query,
  audit: (entry: AuditEntry) => void,
  database: DatabaseRow,
): Promise<void> {
  if (database.policyStateChosen || database.policyState === 'Enabled') return
  await tx`
    update masked_database set policy_state = 'Enabled', policy_version = nextval('resource_version')
    where id = ${database.id}`
  const action = 'Vendor.Sql/servers/databases/dataMaskingPolicies/write'
  auditChange(audit, action, renderPolicy, database, { ...database, policyState: 'Enabled' as const })
}
