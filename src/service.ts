import type { Logger } from 'pino'
import type { Registry } from 'prom-client'
import type { Auth } from './auth/open-auth.ts'
import type { Database } from './db/database.ts'
import type { Store } from './db/store.ts'
import type { NodePart } from './describe-service.ts'
import type { Administrator } from './directory/first-start/read-first-start.ts'
import type { OpenedGraph } from './directory/membership/open-graph.ts'
import type { Gateway } from './gateway/gateway.ts'
import type { Listeners } from './http/listen.ts'
import type { NotReady } from './http/pages.ts'
import type { NodeCertificate } from './kernel/node-name.ts'
import type { Controller } from './masks/control/controller.ts'
import type { Settings } from './settings.ts'

export interface Service {
  readonly memberships: OpenedGraph
  readonly listeners: Listeners
  readonly gateway: Gateway
  readonly enforcement: Controller
  readonly database: Database
  readonly store: Store
  readonly auth: Auth
  readonly registry: Registry
  /** The administrator of the first start; undefined once the account was deleted. */
  readonly administrator: Administrator | undefined
  /** PEM of the certificate by which this node proves itself to its operator's commands. */
  readonly nodeCertificate: string
  /** The node goes on serving, but is not ready any more; the answer to each new request ends its HTTP connection. */
  drain(): void
  stop(): Promise<void>
}

export interface StartOptions {
  readonly settings: Settings
  readonly log: Logger
  /** The built portal; undefined: the service runs without one. */
  readonly portalFolder?: string
  /** Long steps, for people who wait. */
  readonly onProgress?: (step: string) => void
  /** Every listener is open; the node is ready once this is done. */
  readonly onOpen?: (service: Omit<Service, 'stop'>) => Promise<void>
  /** The service cannot go on (its database died, for example). */
  readonly onFatal?: (error: Error) => void
  /** This process serves HTTP for a node, which has the gateway and looks after masked databases. */
  readonly part?: NodePart & {
    readonly gateway: Gateway
    readonly nodeCertificate: NodeCertificate
    /** The parts of the node that are not ready. */
    listNotReady(): Promise<readonly NotReady[]>
    /** The metrics of all processes of the node. */
    metrics(): Promise<string>
  }
}
