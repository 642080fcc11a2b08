import { sqlstate } from '../kernel/sqlstate.ts'
import type { DatabaseAddress, Place } from './database-url.ts'

/** The server answers, and takes no writes: a standby, or a primary that has been replaced. */
export class ReadOnlyServer extends Error {
  readonly code = sqlstate.readOnlyTransaction

  constructor({ host, port }: Place) {
    super(`the server ${host}:${port} takes no writes`)
  }
}

/** The server belongs to another cluster than the one that the address is for. */
export class ForeignServer extends Error {
  readonly code = 'EFOREIGN'

  constructor({ host, port }: Place) {
    super(`the server ${host}:${port} belongs to another cluster`)
  }
}

/** A connection to one of several hosts. */
export interface HostConnection {
  readonly place: Place
  /** When its server was last seen to be the primary, by `performance.now()`. */
  verifiedAt: number
  /** The timeline of that server: each promotion begins the next one. */
  timeline: number
  destroy(reason: Error): void
}

/** Less than a cluster takes to replace a primary that does not answer. */
const trustMs = 5_000

/** Chooses the host to connect to next: the one that was last of use. */
export class HostChoice {
  readonly #places: readonly Place[]
  readonly #connections = new Set<HostConnection>()
  #at = 0
  #timeline = 0
  #primary: Place | undefined
  #beatAt = Number.NEGATIVE_INFINITY
  /** Null: it is that of the first primary. Undefined: servers are not asked. */
  #system: string | null | undefined
  readonly #strangers = new Set<Place>()

  constructor({ host, port, others = [], system }: DatabaseAddress) {
    this.#places = [{ host, port }, ...others]
    this.#system = system
  }

  /** The cluster of the hosts, where it matters and is known. */
  get system(): string | undefined {
    return this.#system ?? undefined
  }

  get asksSystem(): boolean {
    return this.#system !== undefined
  }

  /** Hosts that were seen to belong to another cluster. */
  get strangers(): readonly Place[] {
    return [...this.#strangers]
  }

  /** False for a server of another cluster. One that may not be asked (null) is taken for one of this. */
  recognizes(place: Place, system: string | null, isPrimary: boolean): boolean {
    if (system === null || this.#system === undefined) return true
    if (this.#system === null && isPrimary) this.#system = system
    const isOwn = this.#system === null || this.#system === system
    if (isOwn) this.#strangers.delete(place)
    else this.#strangers.add(place)
    return isOwn
  }

  get count(): number {
    return this.#places.length
  }

  get present(): Place {
    return this.#places[this.#at] as Place
  }

  /** Where the latest primary was seen; undefined: none was seen yet, or there is one host. */
  get primary(): Place | undefined {
    return this.#primary
  }

  get others(): readonly Place[] {
    return this.#places.filter((_place, at) => at !== this.#at)
  }

  /** Passes the turn on, unless another connection has done so already. */
  leave(place: Place): void {
    if (place === this.present) this.#at = (this.#at + 1) % this.#places.length
  }

  /** Admits a connection to a primary. False: a later primary is known. */
  admit(connection: HostConnection): boolean {
    if (connection.timeline < this.#timeline) return false
    this.raise(connection.timeline, connection.place)
    this.#primary = connection.place
    this.#connections.add(connection)
    return true
  }

  forget(connection: HostConnection): void {
    this.#connections.delete(connection)
  }

  /** A primary of this timeline was seen: connections to earlier ones end, and what these answer is not heard. */
  raise(timeline: number, place?: Place): void {
    if (timeline <= this.#timeline) return
    this.#timeline = timeline
    if (place) {
      this.#at = Math.max(0, this.#places.indexOf(place))
      this.#primary = place
    }
    for (const one of this.#connections)
      if (one.timeline < timeline) one.destroy(new ReadOnlyServer(one.place))
  }

  /** The server at this place answered as the primary, to a question from then. */
  beat(place: Place, askedAt: number): void {
    if (place === this.present) this.#beatAt = askedAt
  }

  /** The server at this place does not answer: by the time it does, another may be the primary. */
  distrust(place: Place): void {
    if (this.count === 1) return
    this.leave(place)
    for (const one of this.#connections)
      if (one.place === place)
        one.destroy(new Error(`the server ${place.host}:${place.port} does not answer`))
  }

  /** True when the server of a connection was seen as the primary a moment ago; false after this node was paused. */
  trusts({ place, verifiedAt }: HostConnection): boolean {
    const seenAt = place === this.present ? Math.max(verifiedAt, this.#beatAt) : verifiedAt
    return performance.now() - seenAt < trustMs
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
