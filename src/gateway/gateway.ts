import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'
import { createSecureContext, type SecureContext } from 'node:tls'
import { OperatorError } from '../kernel/operator-error.ts'
import { fatal } from '../wire/messages.ts'
import { Refusal, refuse } from '../wire/refusal.ts'
import { MaskBook } from './mask-book.ts'
import { loadParser } from './parse.ts'
import type { GatewayLimits, GatewayPorts } from './ports.ts'
import { type Admitted, type Hub, runSession } from './session.ts'

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
/** Logins under way; beyond it the oldest makes room, so that those who never finish keep nobody out. */
const maxHalfOpen = 200

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
  const hub: Hub = {
    ports,
    limits,
    masks,
    context: () => context,
    admit: (session) => sessions.admit(session),
    findCancel: (processId, secret) => sessions.findCancel(processId, secret),
  }
  const server = createServer({ noDelay: true, keepAlive: true }, (socket) => {
    socket.on('error', () => {})
    if (sessions.open(socket)) void runSession(socket, hub).finally(() => sessions.finish(socket))
  })
  const bound = await bind(server, host, port).catch((error: unknown) => {
    clearInterval(renewal)
    masks.close()
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
    },
  }
}

class Sessions {
  readonly #limits: GatewayLimits
  readonly #ports: GatewayPorts
  readonly #sockets = new Set<Socket>()
  readonly #halfOpen = new Set<Socket>()
  readonly #admitted = new Map<string, Admitted>()
  readonly #perRole = new Map<string, number>()

  constructor(limits: GatewayLimits, ports: GatewayPorts) {
    this.#limits = limits
    this.#ports = ports
  }

  open(socket: Socket): boolean {
    if (this.#admitted.size >= this.#limits.connections) {
      const refusal = new Refusal('TooManyConnections')
      this.#ports.metrics.refused(refusal.sqlstate)
      socket.end(fatal(refusal))
      socket.destroySoon()
      return false
    }
    this.#sockets.add(socket)
    this.#halfOpen.add(socket)
    const [oldest] = this.#halfOpen
    if (this.#halfOpen.size > maxHalfOpen) oldest?.destroy()
    socket.once('close', () => this.finish(socket))
    return true
  }

  finish(socket: Socket): void {
    this.#halfOpen.delete(socket)
    if (socket.destroyed) this.#sockets.delete(socket)
  }

  admit(session: Admitted): () => void {
    if (this.#admitted.size >= this.#limits.connections) refuse('TooManyConnections')
    const { role } = session
    const count = this.#perRole.get(role) ?? 0
    if (count >= this.#limits.connectionsPerRole) refuse('TooManyForRole', { role })
    const key = keyOf(session.ownKey.processId, session.ownKey.secret)
    this.#perRole.set(role, count + 1)
    this.#admitted.set(key, session)
    this.#halfOpen.delete(session.accepted)
    this.#ports.metrics.opened()
    return () => {
      this.#admitted.delete(key)
      const left = (this.#perRole.get(role) ?? 1) - 1
      if (left > 0) this.#perRole.set(role, left)
      else this.#perRole.delete(role)
      this.#ports.metrics.closed()
    }
  }

  findCancel(processId: number, secret: Buffer): Admitted | undefined {
    return this.#admitted.get(keyOf(processId, secret))
  }

  async drain(timeoutMs: number): Promise<void> {
    const until = Date.now() + timeoutMs
    for (const socket of this.#halfOpen) socket.destroy()
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
    server.listen({ host, port }, () => resolve((server.address() as AddressInfo).port))
  })
}
