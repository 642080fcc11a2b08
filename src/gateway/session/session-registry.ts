import type { CancelKey } from '../login/authenticate.ts'
import type { GatewayMetrics, Traffic } from '../metrics.ts'
import type { BackendAddress, GatewayLimits, Principal } from '../ports.ts'
import { digestId } from './session-ids.ts'

/** How a statement of a session is cancelled. */
export interface Cancellable {
  readonly key: CancelKey | undefined
  readonly address: BackendAddress
}

/** A session that is logged in. */
export interface RegisteredSession {
  /** Made of the key that the client was given to cancel with. */
  readonly id: string
  /** The principal, in whatever database, or the role. */
  readonly countedAs: string
  readonly cancel: Cancellable
  readonly databaseId: string
  /** As it logged in: the role may have another name by now. */
  readonly role: string
  readonly roleOid: number
  /** Undefined: a role of the database itself logged in. */
  readonly principal: Principal | undefined
}

/** taken: another session has this id. */
export type Registration = 'admitted' | 'taken' | 'TooManyConnections' | 'TooManyForRole'

/** All sessions that are logged in on this node, in whichever of its processes. */
export interface SessionRegistry {
  isFull(): Promise<boolean>
  admit(session: RegisteredSession): Promise<Registration>
  leave(id: string, traffic: Traffic): void
  find(id: string): Promise<Cancellable | undefined>
}

export class NodeRegistry implements SessionRegistry {
  readonly #limits: Pick<GatewayLimits, 'connections' | 'connectionsPerRole'>
  readonly #metrics: Pick<GatewayMetrics, 'opened' | 'closed'>
  readonly #byId = new Map<string, RegisteredSession>()
  readonly #counts = new Map<string, number>()

  constructor(
    limits: Pick<GatewayLimits, 'connections' | 'connectionsPerRole'>,
    metrics: Pick<GatewayMetrics, 'opened' | 'closed'>,
  ) {
    this.#limits = limits
    this.#metrics = metrics
  }

  list(): RegisteredSession[] {
    return [...this.#byId.values()]
  }

  async isFull(): Promise<boolean> {
    return this.#byId.size >= this.#limits.connections
  }

  async admit(session: RegisteredSession): Promise<Registration> {
    if (this.#byId.size >= this.#limits.connections) return 'TooManyConnections'
    if (this.#byId.has(session.id)) return 'taken'
    const count = this.#counts.get(session.countedAs) ?? 0
    if (count >= this.#limits.connectionsPerRole) return 'TooManyForRole'
    this.#counts.set(session.countedAs, count + 1)
    this.#byId.set(session.id, session)
    this.#metrics.opened()
    return 'admitted'
  }

  leave(id: string, traffic: Traffic): void {
    const session = this.#byId.get(id)
    if (!session) return
    this.#byId.delete(id)
    const left = (this.#counts.get(session.countedAs) ?? 1) - 1
    if (left > 0) this.#counts.set(session.countedAs, left)
    else this.#counts.delete(session.countedAs)
    this.#metrics.closed(traffic)
  }

  /** The session that another node names by the digest of its id. */
  findByDigest(digest: string): Cancellable | undefined {
    for (const [id, { cancel }] of this.#byId) if (digestId(id) === digest) return cancel
    return undefined
  }

  async find(id: string): Promise<Cancellable | undefined> {
    return this.#byId.get(id)?.cancel
  }
}
