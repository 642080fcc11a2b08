import type { AuditEntry } from '../../api/operation.ts'
import type { Query } from '../../db/query.ts'
import type { DatabaseRow } from '../databases/database-row.ts'
import { canonicalNamespace } from '../place.ts'
import { policyTarget, renderPolicy } from './policy.ts'

/** A new rule enables a policy whose state nobody has chosen. */
export async function enableByRule(
  tx: Query,
  audit: (entry: AuditEntry) => void,
  database: DatabaseRow,
): Promise<void> {
  if (database.policyStateChosen || database.policyState === 'Enabled') return
  await tx`
    update masked_database set policy_state = 'Enabled', policy_version = nextval('resource_version')
    where id = ${database.id}`
  audit({
    action: 'Vendor.Sql/servers/databases/dataMaskingPolicies/write',
    target: policyTarget(database.place),
    before: renderPolicy(database, canonicalNamespace),
    after: renderPolicy({ ...database, policyState: 'Enabled' }, canonicalNamespace),
  })
}
