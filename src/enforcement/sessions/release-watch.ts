import type { Sql } from '../../db/sql.ts'
import type { Unfinished } from '../reconcile-by-relation.ts'
import { findBlockers } from './blockers.ts'

const lookMs = 500

/**
 * Notices within a second that a lock in the way is released: the relation is then readable as it was before the change,
 * and the next try must not wait for its turn.
 */
export class ReleaseWatch {
  readonly #onRelease: (databaseId: string) => void
  readonly #timers = new Map<string, NodeJS.Timeout>()

  constructor(onRelease: (databaseId: string) => void) {
    this.#onRelease = onRelease
  }

  /** In place of what was expected of that database before; an empty list expects nothing. */
  expect(databaseId: string, sql: Sql, guardSchema: string, unfinished: readonly Unfinished[]): void {
    clearTimeout(this.#timers.get(databaseId))
    this.#timers.delete(databaseId)
    if (unfinished.length === 0) return
    const look = async () => {
      const blockers = await findBlockers(sql, guardSchema, unfinished).catch(() => [])
      if (this.#timers.get(databaseId) !== timer) return
      if (blockers.length === 0) this.#onRelease(databaseId)
      else this.expect(databaseId, sql, guardSchema, unfinished)
    }
    const timer = setTimeout(() => void look(), lookMs).unref()
    this.#timers.set(databaseId, timer)
  }

  close(): void {
    for (const timer of this.#timers.values()) clearTimeout(timer)
    this.#timers.clear()
  }
}
