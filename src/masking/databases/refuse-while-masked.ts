import type { Query } from '../../db/query.ts'
import { fail } from '../../kernel/problem.ts'
import type { DatabaseRow } from './database-row.ts'

/**
 * Refuses while a bound database has role mappings, or rules under an enabled policy. Without the binding, the
 * controller could neither remove the masks, restore the grants that they replaced, nor drop the login roles.
 */
export async function refuseWhileMasked(tx: Query, database: DatabaseRow): Promise<void> {
  if (!database.bound) return
  const [mapping] = await tx<{ name: string }[]>`
    select name from role_mapping where database_id = ${database.id} order by key limit 1`
  if (mapping)
    fail('Conflict', {
      reason: `The database is bound and has role mappings ('${mapping.name}'): the login roles made for them would stay for good. Delete the mappings first.`,
    })
  if (database.policyState === 'Disabled') return
  const [rule] = await tx`select 1 from masking_rule where database_id = ${database.id} limit 1`
  if (rule)
    fail('Conflict', {
      reason:
        'The database is bound and masked: its masks would stay for good. Set the policy to Disabled first, or delete the rules.',
    })
}
