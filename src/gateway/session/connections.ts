import { randomBytes } from 'node:crypto'
import type { Socket } from 'node:net'
import { Refusal, type RefusalName, refuse } from '../../wire/refusal.ts'
import type { CancelKey } from '../login/authenticate.ts'
import { HalfOpen } from '../login/half-open.ts'
import { LoginQueue } from '../login/login-queue.ts'
import type { Admission, LoggedInSession } from './gateway-context.ts'
import { idOf } from './session-ids.ts'
import type { Cancellable, SessionRegistry } from './session-registry.ts'

/** Logins under way. */
const maxHalfOpen = 200
/** How many of them may be at a database, and how long when others wait. */
const maxLogins = 32
const loginGraceMs = 5_000

/** The connections of one process, from being accepted to being closed. */
export class Connections {
  readonly #registry: SessionRegistry
  readonly #sockets = new Set<Socket>()
  readonly #halfOpen: HalfOpen
  readonly #logins: LoginQueue
  /** By their ids in the registry. */
  readonly #admitted = new Map<string, LoggedInSession>()
  #isClosed = false

  /** `processes`: among how many of them connections are shared out. */
  constructor(registry: SessionRegistry, processes: number) {
    this.#registry = registry
    this.#halfOpen = new HalfOpen(Math.ceil(maxHalfOpen / processes))
    this.#logins = new LoginQueue(Math.ceil(maxLogins / processes), loginGraceMs)
  }

  open(socket: Socket): void {
    this.#sockets.add(socket)
    this.#halfOpen.add(socket)
    socket.once('close', () => this.finish(socket))
  }

  relocate(socket: Socket): void {
    this.#halfOpen.relocate(socket)
  }

  /** Only now: a request to cancel a statement is heard when there is no room for more of them. */
  async introduce(socket: Socket, signal: AbortSignal): Promise<void> {
    if (await this.#registry.isFull()) refuse('TooManyConnections')
    this.#halfOpen.introduce(socket)
    await this.#logins.take(socket, signal)
  }

  finish(socket: Socket): void {
    this.#halfOpen.delete(socket)
    this.#logins.leave(socket)
    if (socket.destroyed) this.#sockets.delete(socket)
  }

  async admit(session: LoggedInSession): Promise<Admission> {
    const { accepted } = session
    const clientKey = await this.#register(session)
    const id = idOf(clientKey)
    this.#halfOpen.delete(accepted)
    this.#logins.leave(accepted)
    this.#admitted.set(id, session)
    const release = () => {
      this.#admitted.delete(id)
      this.#registry.leave(id, { received: accepted.bytesRead || 0, sent: accepted.bytesWritten || 0 })
    }
    if (!this.#isClosed) return { clientKey, release }
    release()
    return refuse('Shutdown')
  }

  /** Two servers may have processes of the same id: the secret tells their sessions apart. */
  async #register(session: LoggedInSession): Promise<CancelKey> {
    const { role, roleOid, countedAs, key, address, secretBytes, databaseId, principal } = session
    for (;;) {
      const clientKey = { processId: key?.processId ?? 0, secret: randomBytes(secretBytes) }
      const admission = await this.#registry.admit({
        id: idOf(clientKey),
        countedAs,
        cancel: { key, address },
        databaseId,
        role,
        roleOid,
        principal,
      })
      if (admission === 'admitted') return clientKey
      if (admission !== 'taken') refuse(admission, { role })
    }
  }

  findCancel(key: CancelKey): Promise<Cancellable | undefined> {
    return this.#registry.find(idOf(key))
  }

  /** Ends those of the sessions that this process has. At the place of a former binding no connection of ours can end their backends. */
  end(ids: readonly string[], reason: RefusalName): void {
    for (const id of ids) {
      const relay = this.#admitted.get(id)?.relay
      if (reason === 'BindingChanged') relay?.cancel(new Refusal(reason))
      else relay?.end(new Refusal(reason))
    }
  }

  async drain(timeoutMs: number): Promise<void> {
    const until = Date.now() + timeoutMs
    this.#isClosed = true
    this.#halfOpen.destroyAll()
    while (this.#admitted.size > 0) {
      const isLate = Date.now() >= until
      for (const { relay } of this.#admitted.values())
        if (isLate || relay.isIdle) relay.end(new Refusal('Shutdown'))
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
    const cut = setTimeout(() => {
      for (const socket of this.#sockets) socket.destroy()
    }, 1_000)
    cut.unref()
  }
}
