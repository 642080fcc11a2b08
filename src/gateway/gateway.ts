import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'
import { createSecureContext, type SecureContext } from 'node:tls'
import { OperatorError } from '../kernel/operator-error.ts'
import { Refusal, refuse } from '../wire/refusal.ts'
import { HalfOpen } from './half-open.ts'
import { LoginTurns } from './login-turns.ts'
import { MaskBook } from './mask-book.ts'
import { liveness } from './open-backend.ts'
import { loadParser } from './parse.ts'
import type { GatewayLimits, GatewayPorts } from './ports.ts'
import { type Admitted, type Hub, runSession } from './session.ts'
import { Ledger } from './touch/ledger.ts'

export interface Gateway {
  readonly port: number
  /** After a change of masks: sessions of this node know of it when this resolves. */
  refresh(databaseId: string): Promise<void>
  /** The same for every database, when nobody knows which masks have changed. */
  refreshAll(): Promise<void>
  /** Takes no new connections, ends idle sessions at once and busy ones when they are done or time is up. */
  close(timeoutMs: number): Promise<void>
}

export interface GatewayOptions {
  readonly host: string
  readonly port: number
  readonly limits: GatewayLimits
  readonly ports: GatewayPorts
}

const renewalCheckMs = 6 * 60 * 60 * 1000
/** Logins under way. */
const maxHalfOpen = 200
/** How many of them may be at a database, and how long when others wait. */
const maxLogins = 32
const loginGraceMs = 5_000
/** Connections that the system keeps until they are accepted: a burst of them makes nobody wait for a second try. */
const backlog = 4_096

export async function openGateway({ host, port, limits, ports }: GatewayOptions): Promise<Gateway> {
  await loadParser()
  let context = await readContext(ports)
  const renewal = setInterval(() => {
    readContext(ports).then(
      (fresh) => {
        context = fresh
      },
      (err) => ports.log.error({ err }, "the gateway's certificate could not be renewed"),
    )
  }, renewalCheckMs).unref()
  const masks = new MaskBook(ports)
  const sessions = new Sessions(limits, ports)
  const ledger = new Ledger({
    record: (events) => ports.recordEvents(events),
    onTouched: (touched) => ports.metrics.touched(touched),
    onLost: (count) => ports.metrics.auditLost(count),
    log: ports.log,
  })
  const hub: Hub = {
    ports,
    limits,
    masks,
    ledger,
    context: () => context,
    introduce: (socket, signal) => sessions.introduce(socket, signal),
    admit: (session) => sessions.admit(session),
    findCancel: (processId, secret) => sessions.findCancel(processId, secret),
  }
  const server = createServer(liveness, (socket) => {
    socket.on('error', () => {})
    sessions.open(socket)
    void runSession(socket, hub).finally(() => sessions.finish(socket))
  })
  const bound = await bind(server, host, port).catch(async (error: unknown) => {
    clearInterval(renewal)
    masks.close()
    await ledger.close()
    throw error
  })
  return {
    port: bound,
    refresh: (databaseId) => masks.refresh(databaseId),
    refreshAll: () => masks.refreshAll(),
    async close(timeoutMs) {
      clearInterval(renewal)
      const closed = new Promise<void>((resolve) => server.close(() => resolve()))
      await sessions.drain(timeoutMs)
      masks.close()
      await closed
      await ledger.close()
    },
  }
}

class Sessions {
  readonly #limits: GatewayLimits
  readonly #ports: GatewayPorts
  readonly #sockets = new Set<Socket>()
  readonly #halfOpen = new HalfOpen(maxHalfOpen)
  readonly #logins = new LoginTurns(maxLogins, loginGraceMs)
  readonly #admitted = new Map<string, Admitted>()
  readonly #perPrincipal = new Map<string, number>()

  constructor(limits: GatewayLimits, ports: GatewayPorts) {
    this.#limits = limits
    this.#ports = ports
  }

  open(socket: Socket): void {
    this.#sockets.add(socket)
    this.#halfOpen.add(socket)
    socket.once('close', () => this.finish(socket))
  }

  /** Only now: a request to cancel a statement is heard when there is no room for more of them. */
  async introduce(socket: Socket, signal: AbortSignal): Promise<void> {
    if (this.#admitted.size >= this.#limits.connections) refuse('TooManyConnections')
    this.#halfOpen.introduce(socket)
    await this.#logins.take(socket, signal)
  }

  finish(socket: Socket): void {
    this.#halfOpen.delete(socket)
    this.#logins.leave(socket)
    if (socket.destroyed) this.#sockets.delete(socket)
  }

  admit(session: Admitted): () => void {
    if (this.#admitted.size >= this.#limits.connections) refuse('TooManyConnections')
    const { countedAs, role } = session
    const count = this.#perPrincipal.get(countedAs) ?? 0
    if (count >= this.#limits.connectionsPerRole) refuse('TooManyForRole', { role })
    const key = keyOf(session.ownKey.processId, session.ownKey.secret)
    this.#perPrincipal.set(countedAs, count + 1)
    this.#admitted.set(key, session)
    this.#halfOpen.delete(session.accepted)
    this.#logins.leave(session.accepted)
    this.#ports.metrics.opened()
    return () => {
      this.#admitted.delete(key)
      const left = (this.#perPrincipal.get(countedAs) ?? 1) - 1
      if (left > 0) this.#perPrincipal.set(countedAs, left)
      else this.#perPrincipal.delete(countedAs)
      const { bytesRead, bytesWritten } = session.accepted
      this.#ports.metrics.closed({ received: bytesRead || 0, sent: bytesWritten || 0 })
    }
  }

  findCancel(processId: number, secret: Buffer): Admitted | undefined {
    return this.#admitted.get(keyOf(processId, secret))
  }

  async drain(timeoutMs: number): Promise<void> {
    const until = Date.now() + timeoutMs
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

function keyOf(processId: number, secret: Buffer): string {
  return `${processId}:${secret.toString('hex')}`
}

async function readContext(ports: GatewayPorts): Promise<SecureContext> {
  const { cert, key } = await ports.certificate()
  return createSecureContext({ cert, key, minVersion: 'TLSv1.2' })
}

function bind(server: Server, host: string, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', (cause: NodeJS.ErrnoException) =>
      reject(
        new OperatorError(
          `The gateway cannot listen on ${host}:${port} (${cause.code}). Set MASQUERADE_GATEWAY_PORT to another port (0 picks a free one).`,
          { cause },
        ),
      ),
    )
    server.listen({ host, port, backlog }, () => resolve((server.address() as AddressInfo).port))
  })
}
