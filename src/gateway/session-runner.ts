import type { Socket } from 'node:net'
import { createSecureContext, type SecureContext } from 'node:tls'
import { createNetworkList } from '../kernel/network.ts'
import { nodeName } from '../kernel/node-name.ts'
import type { RefusalName } from '../wire/refusal.ts'
import { AuditWriter } from './audit/audit-writer.ts'
import type { GatewayLimits, GatewayPorts } from './ports.ts'
import { MaskCache } from './rewrite/mask-cache.ts'
import { Connections } from './session/connections.ts'
import type { GatewayContext } from './session/gateway-context.ts'
import { runSession } from './session/run-session.ts'
import type { SessionRegistry } from './session/session-registry.ts'

/** Where sessions live: in one process or in several. */
export interface SessionRunner {
  readonly processes: readonly number[]
  /** Null, or why not all processes work. */
  describeMissing(): string | null
  accept(socket: Socket): void
  refresh(databaseId: string): Promise<void>
  refreshAll(): Promise<void>
  /** Ends those sessions; their clients are told the reason. */
  end(ids: readonly string[], reason: RefusalName): Promise<void>
  close(timeoutMs: number): Promise<void>
}

export interface SessionRunnerOptions {
  readonly limits: GatewayLimits
  readonly ports: GatewayPorts
  readonly registry: SessionRegistry
  /** Among how many of them connections are shared out. */
  readonly processes: number
}

const renewalCheckMs = 6 * 60 * 60 * 1000

export async function openSessionRunner({
  limits,
  ports,
  registry,
  processes,
}: SessionRunnerOptions): Promise<SessionRunner> {
  let context = await readContext(ports)
  const ownContext = createSecureContext({ ...(await ports.nodeCertificate()), minVersion: 'TLSv1.2' })
  const renewal = setInterval(() => {
    readContext(ports).then(
      (fresh) => {
        context = fresh
      },
      (err) => ports.log.error({ err }, "the gateway's certificate could not be renewed"),
    )
  }, renewalCheckMs).unref()
  const masks = new MaskCache(ports)
  const connections = new Connections(registry, processes)
  const auditWriter = new AuditWriter({
    record: (events) => ports.recordEvents(events),
    findWouldMask: (databaseId, roles) => ports.findWouldMask(databaseId, roles),
    onTouched: (touched) => ports.metrics.touched(touched),
    onLost: (count) => ports.metrics.auditLost(count),
    log: ports.log,
  })
  const gateway: GatewayContext = {
    ports,
    limits,
    masks,
    auditWriter,
    tlsContext: (name) => (name === nodeName ? ownContext : context),
    isProxy: createNetworkList(limits.proxies),
    relocate: (socket) => connections.relocate(socket),
    introduce: (socket, signal) => connections.introduce(socket, signal),
    admit: (session) => connections.admit(session),
    findCancel: (key) => connections.findCancel(key),
  }
  return {
    processes: [process.pid],
    describeMissing: () => null,
    accept(socket) {
      socket.on('error', () => {})
      connections.open(socket)
      void runSession(socket, gateway).finally(() => connections.finish(socket))
    },
    refresh: (databaseId) => masks.refresh(databaseId),
    refreshAll: () => masks.refreshAll(),
    end: async (ids, reason) => connections.end(ids, reason),
    async close(timeoutMs) {
      clearInterval(renewal)
      await connections.drain(timeoutMs)
      masks.close()
      await auditWriter.close()
    },
  }
}

async function readContext(ports: GatewayPorts): Promise<SecureContext> {
  const { cert, key } = await ports.certificate()
  return createSecureContext({ cert, key, minVersion: 'TLSv1.2' })
}
