import { lockUntilCommit, selectLock, shareUntilCommit } from '../db/advisory-locks.ts'
import type { Fragment, Query } from '../db/query.ts'

/*
 * DIR-354, DIR-355: of a write that gives a right to an application or group and one that relies on what it has, the later sees
 * what the earlier stored. Rows cannot order them: a right is given at any depth above, by a list of names, or in another room.
 * Lock the rows of the write before: behind this lock it would wait for writes that wait for it.
 */

/** Waits for writes that rely on what is given, and keeps others waiting until the transaction ends. */
export async function lockRightsToGive(tx: Query): Promise<void> {
  await lockUntilCommit(tx, 'rights')
}

/** Waits for writes that give rights: statements after this one see what they gave, and nothing is given until the end. */
export async function lockRightsToRead(tx: Query): Promise<void> {
  await shareUntilCommit(tx, 'rights')
}

/** The same as a column of a statement that locks rows, where one statement more for each write would be felt. */
export function selectRightsLock(tx: Query, gives: Fragment): Fragment {
  return selectLock(tx, 'rights', gives)
}
