/** A server as it answers one look. */
export interface ServerLook {
  /** When its postmaster started. */
  readonly started: string
  /** Processes without a role, those of the server itself among them: after a crash none of them is left. */
  readonly processes: readonly number[]
}

/** A session of a login role, or one that may be: PostgreSQL shows no role of one that it is starting. */
export interface DueSession {
  readonly pid: number
  readonly role?: number
  readonly transaction?: string
}

/** A loss that the server had replayed, and the sessions of before that have not ended. */
export interface SeenLoss {
  readonly loss: string
  readonly due: readonly DueSession[]
}

/**
 * What this node has seen at one place of a binding: the losses that the server there had replayed, by the OID of the login role.
 * Sessions that begin later have nothing that was lost.
 */
export class KnownServer {
  #look: ServerLook | undefined
  #losses = new Map<number, SeenLoss>()

  /**
   * The losses that this very server had replayed. None where it has started since, or is another one: a standby that crashed
   * serves sessions again before it has replayed what it had, and the sessions of another one are others.
   */
  recall(look: ServerLook): Map<number, SeenLoss> {
    const before = this.#look
    const isSame =
      before?.started === look.started && look.processes.some((pid) => before.processes.includes(pid))
    // Anew: a look of before may still be writing to the old one.
    if (!isSame) this.#losses = new Map()
    this.#look = look
    return this.#losses
  }
}
