import type { Socket } from 'node:net'
import type { SecureContext } from 'node:tls'
import type { AuditWriter } from '../audit/audit-writer.ts'
import type { CancelKey } from '../login/authenticate.ts'
import type { Backend } from '../login/log-in.ts'
import type { FoundDatabase, GatewayLimits, GatewayPorts, Principal } from '../ports.ts'
import type { MaskCache } from '../rewrite/mask-cache.ts'
import type { Relay } from './relay.ts'
import type { Cancellable } from './session-registry.ts'

/** Shared by all sessions of one process. */
export interface GatewayContext {
  readonly ports: GatewayPorts
  readonly limits: GatewayLimits
  readonly masks: MaskCache
  readonly auditWriter: AuditWriter
  /** By the name that the client asks for. */
  tlsContext(name?: string): SecureContext
  /** True for addresses of proxies, which begin each connection by telling the client's address. */
  isProxy(address: string): boolean
  /** Counts a connection by the address that its proxy told. */
  relocate(accepted: Socket): void
  /** The client has sent its startup packet: waits for its turn to log in, or refuses it. */
  introduce(accepted: Socket, signal: AbortSignal): Promise<void>
  /** Counts a session in once it is logged in, or refuses it. */
  admit(session: LoggedInSession): Promise<Admission>
  findCancel(key: CancelKey): Promise<Cancellable | undefined>
}

export interface LoggedInSession extends Cancellable {
  readonly role: string
  readonly roleOid: number
  /** The principal, in whatever database, or the role of this one. */
  readonly countedAs: string
  readonly databaseId: string
  readonly principal: Principal | undefined
  readonly relay: Relay
  /** The connection as it was accepted. */
  readonly accepted: Socket
  /** How long the secret is that the client takes to cancel with. */
  readonly secretBytes: number
}

export interface Admission {
  /** The key for the client: the server's process id, and a secret of the gateway's own. */
  readonly clientKey: CancelKey
  /** Counts the session out. */
  release(): void
}

/** One connection of a client, until it is logged in. */
export interface ConnectionAttempt {
  readonly accepted: Socket
  /** Aborted when time is up or the client is gone. */
  readonly signal: AbortSignal
  onBackend(backend: Backend): void
  onLogin(): void
  onDatabase(database: FoundDatabase): void
  onPrincipal(principal: Principal): void
}
