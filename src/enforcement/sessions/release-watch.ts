const lookMs = 500

/** True while what is in the way is still there. */
export type IsHeld = () => Promise<boolean>

/**
 * Notices within a second that what was in the way is gone: a relation whose lock is released is readable as it was before
 * the change, so the next try must not wait for its turn.
 */
export class ReleaseWatch {
  readonly #onRelease: (databaseId: string) => void
  readonly #timers = new Map<string, NodeJS.Timeout>()

  constructor(onRelease: (databaseId: string) => void) {
    this.#onRelease = onRelease
  }

  /** In place of what was expected of that database before; null expects nothing. */
  expect(databaseId: string, isHeld: IsHeld | null): void {
    clearTimeout(this.#timers.get(databaseId))
    this.#timers.delete(databaseId)
    if (!isHeld) return
    const look = async () => {
      const isStillHeld = await isHeld().catch(() => false)
      if (this.#timers.get(databaseId) !== timer) return
      if (isStillHeld) this.expect(databaseId, isHeld)
      else this.#onRelease(databaseId)
    }
    const timer = setTimeout(() => void look(), lookMs).unref()
    this.#timers.set(databaseId, timer)
  }

  close(): void {
    for (const timer of this.#timers.values()) clearTimeout(timer)
    this.#timers.clear()
  }
}
