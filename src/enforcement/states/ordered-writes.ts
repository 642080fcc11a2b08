interface Writes {
  /** A later turn has begun to write. */
  readonly isOvertaken: () => boolean
  /** Where a later turn has overtaken this one, returns undefined after the write of that turn. Else `onWrite` runs first. */
  readonly write: <T>(onWrite: () => void, write: () => Promise<T>) => Promise<T | undefined>
  /** Writes a failure in any case; `onWrite` runs where no later turn has overtaken this one. */
  readonly fail: (onWrite: () => void, write: () => Promise<void>) => Promise<void>
}

/**
 * Keeps a turn from writing `Enforced` over the state of a later one: it may wait for a lagging standby, or for the server of a former
 * binding, while the next ones begin and end. A failure is written all the same, and the database looked at again: the
 * later turn may have judged before it.
 */
export class OrderedWrites {
  #turns = 0
  readonly #last = new Map<string, { readonly turn: number; readonly end: Promise<void> }>()

  /** At the beginning of a turn. */
  begin(key: string): Writes {
    const turn = ++this.#turns
    const findLater = () => {
      const last = this.#last.get(key)
      return last && last.turn > turn ? last : undefined
    }
    const writeNext = async <T>(onWrite: () => void, write: () => Promise<T>): Promise<T> => {
      const later = findLater()
      // An earlier turn may have undone by now what this one did before.
      if (!later) onWrite()
      const before = this.#last.get(key)?.end ?? Promise.resolve()
      const written = before.then(write)
      const ignore = () => {}
      this.#last.set(key, { turn: later?.turn ?? turn, end: written.then(ignore, ignore) })
      return await written
    }
    return {
      isOvertaken: () => findLater() !== undefined,
      write: async (onWrite, write) => {
        const later = findLater()
        return later ? void (await later.end) : await writeNext(onWrite, write)
      },
      fail: writeNext,
    }
  }
}
