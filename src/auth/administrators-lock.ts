import { lockUntilCommit, shareLock } from '../db/advisory-locks.ts'
import type { Query } from '../db/query.ts'

/**
 * Queues transactions that take administrators away, until they end: of two that each remove one of the last two, the
 * second then sees what the first did. Call it before counting the administrators that stay.
 */
export async function lockAdministrators(tx: Query): Promise<void> {
  await lockUntilCommit(tx, 'administrators')
}

/**
 * For a transaction that disables or deletes a person who is no administrator: one that hands the rights over to that person, or to a group
 * around, and then takes the former administrator away waits for it, or it for that one. Ask again behind it whether it is one.
 */
export async function shareAdministrators(tx: Query): Promise<void> {
  await tx`select ${shareLock(tx, 'administrators')}`
}
