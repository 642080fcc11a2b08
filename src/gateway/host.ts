import type { Socket } from 'node:net'
import { createSecureContext, type SecureContext } from 'node:tls'
import { Ledger } from './audit/ledger.ts'
import type { GatewayLimits, GatewayPorts } from './ports.ts'
import { MaskBook } from './rewrite/mask-book.ts'
import { loadParser } from './rewrite/parse.ts'
import type { GuestBook } from './session/guests.ts'
import { type Hub, runSession } from './session/session.ts'
import { Sessions } from './session/sessions.ts'

/** Where sessions live: in one process or in several. */
export interface Host {
  readonly processes: readonly number[]
  accept(socket: Socket): void
  refresh(databaseId: string): Promise<void>
  refreshAll(): Promise<void>
  close(timeoutMs: number): Promise<void>
}

export interface HostOptions {
  readonly limits: GatewayLimits
  readonly ports: GatewayPorts
  readonly guests: GuestBook
  /** Among how many of them connections are shared out. */
  readonly processes: number
}

const renewalCheckMs = 6 * 60 * 60 * 1000

export async function openHost({ limits, ports, guests, processes }: HostOptions): Promise<Host> {
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
  const sessions = new Sessions(guests, processes)
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
  return {
    processes: [process.pid],
    accept(socket) {
      socket.on('error', () => {})
      sessions.open(socket)
      void runSession(socket, hub).finally(() => sessions.finish(socket))
    },
    refresh: (databaseId) => masks.refresh(databaseId),
    refreshAll: () => masks.refreshAll(),
    async close(timeoutMs) {
      clearInterval(renewal)
      await sessions.drain(timeoutMs)
      masks.close()
      await ledger.close()
    },
  }
}

async function readContext(ports: GatewayPorts): Promise<SecureContext> {
  const { cert, key } = await ports.certificate()
  return createSecureContext({ cert, key, minVersion: 'TLSv1.2' })
}
