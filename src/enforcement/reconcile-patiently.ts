import type { Database } from '../db/database.ts'
import type { Outcome, PolicySource, ReconcileOptions } from './in-turn.ts'
import { reconcile } from './reconcile.ts'
import { PartlyEnforced } from './reconcile-by-relation.ts'
import { attempts, countAttempts, type Occasion, patientAttempts } from './states/attempts.ts'
import { explainFailure } from './states/explain-failure.ts'
import { isOutOfLocks } from './states/find-cause.ts'
import { isPassing } from './states/is-passing.ts'
import type { Unfinished } from './unfinished.ts'

/**
 * "tuple concurrently updated" and locks held for a moment are tried again. `clear` ends sessions in the way that are due,
 * and says how many.
 */
export async function reconcilePatiently(
  database: Database,
  readPolicy: PolicySource,
  options: ReconcileOptions,
  occasion: Occasion,
  clear: (outcome: Outcome, unfinished: readonly Unfinished[]) => Promise<{ readonly ended: number }>,
): Promise<{ outcome: Outcome; unfinished: readonly Unfinished[] }> {
  for (let attempt = 1; ; attempt++) {
    try {
      return { outcome: await reconcile(database, readPolicy, options), unfinished: [] }
    } catch (error) {
      if (error instanceof PartlyEnforced) {
        const { outcome, unfinished } = error
        const { ended } = await clear(outcome, unfinished)
        const isOver = attempt >= patientAttempts || !unfinished.some(isPassing)
        if (attempt >= attempts || (isOver && ended === 0)) return { outcome, unfinished }
      } else {
        const { passing, reason } = explainFailure(error)
        const isOver = attempt >= countAttempts(error, occasion)
        if (!passing || isOver || reason.includes('reached') || isOutOfLocks(error)) throw error
      }
      await new Promise((resolve) => setTimeout(resolve, 50 * 2 ** attempt))
    }
  }
}
