import type { CancelKey } from '../login/authenticate.ts'
import type { GatewayMetrics, Traffic } from '../metrics.ts'
import type { BackendAddress, GatewayLimits } from '../ports.ts'

/** How a statement of a session is cancelled. */
export interface Cancellable {
  readonly key: CancelKey | undefined
  readonly address: BackendAddress
}

/** A session that is logged in. */
export interface RegisteredSession {
  /** The one that the client was given to cancel with. */
  readonly ownKey: string
  /** The principal, in whatever database, or the role. */
  readonly countedAs: string
  readonly cancel: Cancellable
}

export type Admission = 'admitted' | 'TooManyConnections' | 'TooManyForRole'

/** Everybody who is logged in on this node, in whichever of its processes. */
export interface SessionRegistry {
  isFull(): Promise<boolean>
  admit(session: RegisteredSession): Promise<Admission>
  leave(ownKey: string, traffic: Traffic): void
  find(ownKey: string): Promise<Cancellable | undefined>
}

export class NodeRegistry implements SessionRegistry {
  readonly #limits: Pick<GatewayLimits, 'connections' | 'connectionsPerRole'>
  readonly #metrics: Pick<GatewayMetrics, 'opened' | 'closed'>
  readonly #byKey = new Map<string, RegisteredSession>()
  readonly #counts = new Map<string, number>()

  constructor(
    limits: Pick<GatewayLimits, 'connections' | 'connectionsPerRole'>,
    metrics: Pick<GatewayMetrics, 'opened' | 'closed'>,
  ) {
    this.#limits = limits
    this.#metrics = metrics
  }

  async isFull(): Promise<boolean> {
    return this.#byKey.size >= this.#limits.connections
  }

  async admit(session: RegisteredSession): Promise<Admission> {
    if (this.#byKey.size >= this.#limits.connections) return 'TooManyConnections'
    const count = this.#counts.get(session.countedAs) ?? 0
    if (count >= this.#limits.connectionsPerRole) return 'TooManyForRole'
    this.#counts.set(session.countedAs, count + 1)
    this.#byKey.set(session.ownKey, session)
    this.#metrics.opened()
    return 'admitted'
  }

  leave(ownKey: string, traffic: Traffic): void {
    const session = this.#byKey.get(ownKey)
    if (!session) return
    this.#byKey.delete(ownKey)
    const left = (this.#counts.get(session.countedAs) ?? 1) - 1
    if (left > 0) this.#counts.set(session.countedAs, left)
    else this.#counts.delete(session.countedAs)
    this.#metrics.closed(traffic)
  }

  async find(ownKey: string): Promise<Cancellable | undefined> {
    return this.#byKey.get(ownKey)?.cancel
  }
}
