import { lockUntilCommit } from '../db/advisory-locks.ts'
import type { Query } from '../db/query.ts'

/**
 * Queues transactions that take administrators away, until they end: of two that each remove one of the last two, the
 * second then sees what the first did. Call it before counting the administrators that stay.
 */
export async function lockAdministrators(tx: Query): Promise<void> {
  await lockUntilCommit(tx, 'administrators')
}
