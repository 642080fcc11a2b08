import { limitWaits, shareLock, takeLock } from '../db/advisory-locks.ts'
import type { Fragment, Query } from '../db/query.ts'

/*
 * DIR-354, DIR-355: of a write that gives a right to an application or group and one that relies on what it has, the later sees
 * what the earlier stored. Rows cannot order them: a right is given at any depth above, by a list of names, or in another room.
 * Lock the rows of the write before, those of foreign keys included: behind this lock it would wait for writes that wait for it.
 * Of the other locks, that of assignments comes before this one, and that of administrators behind it.
 */

/** DIR-358: a write that waits for an import while it holds this lock makes all writes behind it wait. */
const longestWaitMs = 15_000

/** Waits for writes that rely on what is given, and keeps others waiting until the transaction ends. */
export async function lockRightsToGive(tx: Query): Promise<void> {
  await tx`select ${takeLock(tx, 'rights')}, ${limitWaits(tx, longestWaitMs)}`
}

/** Waits for writes that give rights: statements after this one see what they gave, and nothing is given until the end. */
export async function lockRightsToRead(tx: Query): Promise<void> {
  await tx`select ${shareLock(tx, 'rights')}, ${limitWaits(tx, longestWaitMs)}`
}

/** The same as columns of a statement that locks rows, where one statement more for each write would be felt. */
export function selectRightsLock(tx: Query, gives: Fragment): Fragment {
  return tx`case when ${gives} then ${takeLock(tx, 'rights')} else ${shareLock(tx, 'rights')} end,
    ${limitWaits(tx, longestWaitMs)}`
}
