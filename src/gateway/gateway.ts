import { type AddressInfo, createServer, type Server } from 'node:net'
import { OperatorError } from '../kernel/operator-error.ts'
import { traceSessions } from './audit/trace-sessions.ts'
import { liveness } from './login/open-backend.ts'
import type { GatewayLimits, GatewayPorts } from './ports.ts'
import { cancelStatement } from './session/cancel.ts'
import { NodeRegistry } from './session/session-registry.ts'
import { RevocationWatch } from './session/watch-revocations.ts'
import { ServerWatch } from './session/watch-servers.ts'
import { openSessionRunner, type SessionRunner } from './session-runner.ts'
import { openWorkers } from './workers/pool.ts'

export interface Gateway {
  readonly port: number
  /** Ids of the processes that have the sessions. */
  readonly processes: readonly number[]
  /** Null, or why not all of them work. */
  describeMissing(): string | null
  /** After a change of masks: sessions of this node know of it when this resolves. */
  refresh(databaseId: string): Promise<void>
  /** The same for every database, when it is unknown which masks have changed. */
  refreshAll(): Promise<void>
  /** Cancels the statement of a session of this node that another node was asked to cancel. */
  cancel(digest: string): Promise<void>
  /** Takes no new connections, ends idle sessions at once and busy ones when they are done or time is up. */
  close(timeoutMs: number): Promise<void>
}

export interface GatewayOptions {
  readonly host: string
  readonly port: number
  /** Processes that share the sessions; 1: this one has them all. */
  readonly workers: number
  readonly limits: GatewayLimits
  readonly ports: GatewayPorts
}

/** Connections that the system queues until they are accepted: large enough that clients in a burst need not retry. */
const backlog = 4_096

/** Workers report the ends of sessions by the same port. */
function traceEnds(ports: GatewayPorts): GatewayPorts {
  return {
    ...ports,
    async recordEvents(events) {
      await ports.recordEvents(events)
      traceSessions(events)
    },
  }
}

export async function openGateway(options: GatewayOptions): Promise<Gateway> {
  const { workers, limits } = options
  const ports = traceEnds(options.ports)
  const registry = new NodeRegistry(limits, ports.metrics)
  const sessions: SessionRunner =
    workers > 1
      ? await openWorkers({ count: workers, limits, ports, registry })
      : await openSessionRunner({ limits, ports, registry, processes: 1 })
  // A socket that is handed to a worker must not be read by this process.
  const server = createServer({ ...liveness, pauseOnConnect: workers > 1 }, (socket) =>
    sessions.accept(socket),
  )
  const port = await bind(server, options).catch(async (error: unknown) => {
    await sessions.close(0)
    throw error
  })
  const revocations = new RevocationWatch({
    ...ports,
    list: () => registry.list(),
    endRevoked: (ids) => sessions.end(ids, 'TokenRevoked'),
  })
  const servers = new ServerWatch({
    ...ports,
    list: () => registry.list(),
    end: (ids, reason) => sessions.end(ids, reason),
  })
  return {
    port,
    get processes() {
      return sessions.processes
    },
    describeMissing: () => sessions.describeMissing(),
    async refresh(databaseId) {
      // Before the masks of another place are read for sessions that are at the former one.
      await servers.lookAtPlaces(databaseId)
      await Promise.all([sessions.refresh(databaseId), servers.lookAtStandbys(databaseId)])
    },
    refreshAll: () => sessions.refreshAll(),
    async cancel(digest) {
      const session = registry.findByDigest(digest)
      if (session?.key) await cancelStatement(session.address, session.key, limits.startupMs)
    },
    async close(timeoutMs) {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()))
      await sessions.close(timeoutMs)
      await Promise.all([revocations.close(), servers.close()])
      await closed
    },
  }
}

function bind(server: Server, { host, port }: GatewayOptions): Promise<number> {
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
