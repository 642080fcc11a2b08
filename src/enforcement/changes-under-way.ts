/** Changes that this node enforces now, by database. */
export class ChangesUnderWay {
  readonly #running = new Map<string, Set<Promise<unknown>>>()

  async run<T>(databaseId: string, enforce: () => Promise<T>): Promise<T> {
    const running = this.#running.get(databaseId) ?? new Set()
    this.#running.set(databaseId, running)
    const change = enforce()
    running.add(change)
    try {
      return await change
    } finally {
      running.delete(change)
      if (running.size === 0) this.#running.delete(databaseId)
    }
  }

  /** Waits for those that have begun, and not for later ones: constant changes keep no audit waiting for ever. */
  async settled(databaseId: string): Promise<void> {
    await Promise.allSettled(this.#running.get(databaseId) ?? [])
  }
}
