import { sqlstate } from '../kernel/sqlstate.ts'
import type { DatabaseAddress, Place } from './database-url.ts'

/** The server answers, and takes no writes: a standby, or a primary that has been replaced. */
export class ReadOnlyServer extends Error {
  readonly code = sqlstate.readOnlyTransaction

  constructor({ host, port }: Place) {
    super(`the server ${host}:${port} takes no writes`)
  }
}

/** Which of several hosts is connected to next: the one that was last of use. */
export class HostChoice {
  readonly #places: readonly Place[]
  #at = 0

  constructor({ host, port, others = [] }: DatabaseAddress) {
    this.#places = [{ host, port }, ...others]
  }

  get count(): number {
    return this.#places.length
  }

  get present(): Place {
    return this.#places[this.#at] as Place
  }

  /** Passes the turn on, unless another connection has done so already. */
  leave(place: Place): void {
    if (place === this.present) this.#at = (this.#at + 1) % this.#places.length
  }
}

const choices = new WeakMap<DatabaseAddress, HostChoice>()

/** All connections of one address learn from each other where the database is now. */
export function choiceOf(address: DatabaseAddress): HostChoice {
  const known = choices.get(address)
  if (known) return known
  const choice = new HostChoice(address)
  choices.set(address, choice)
  return choice
}
