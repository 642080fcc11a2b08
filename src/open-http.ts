import type { Room } from './api/room.ts'
import type { StoreHealth } from './db/store-health.ts'
import type { HttpOptions } from './http/http-options.ts'
import { type Mounted, mountBefore } from './http/mount.ts'
import { addPages, type NotReady } from './http/pages.ts'
import { buildHttp } from './http/server.ts'
import type { ChecksAfterRestore } from './masking/states/list-states.ts'
import { addPortal } from './portal/add-portal.ts'
import type { StartOptions } from './service.ts'
import { version } from './version.ts'

/** Open: every listener is, and commands find the node. Draining: it is about to close them, and serves meanwhile. */
export type Phase = 'starting' | 'open' | 'draining' | 'closing'

const standings = { starting: 'starting', open: null, draining: 'shutting down', closing: 'shutting down' }

/** Processes of a node, which may be missing. */
interface Processes {
  describeMissing(): string | null
}

interface Parts
  extends Omit<HttpOptions, 'runner' | 'rooms' | 'accepting'>,
    Pick<HttpOptions['runner'], 'database' | 'gatekeeper'> {
  readonly rooms: readonly Room[]
  readonly health: StoreHealth
  readonly checks: ChecksAfterRestore
  readonly issuer: Mounted
  readonly issuerUrl: () => string
  readonly part: StartOptions['part']
  readonly portalFolder: string | undefined
  now(): { readonly phase: Phase } & Readonly<Record<'http' | 'gateway', Processes | undefined>>
}

/** The APIs, the pages and the token service behind one handler, without the listening sockets. */
export async function openServiceHttp(parts: Parts) {
  const { database, gatekeeper, health, rooms, issuer, part, metrics, headers, log, isTrustedProxy } = parts
  const accepting = () => parts.now().phase === 'starting' || parts.now().phase === 'open'
  const listNotReady = () => (part ? joinNotReady(part, health) : listOwnNotReady(parts))
  const { app, handler } = await buildHttp(
    {
      runner: { database, gatekeeper, requireRoom: () => health.requireRoom() },
      rooms,
      log,
      metrics,
      headers,
      isTrustedProxy,
      accepting,
    },
    async (page) => {
      const portalPage = await addPortal(page, parts.portalFolder, parts.issuerUrl)
      const { registry } = metrics
      const nodeRegistry = part ? { contentType: registry.contentType, metrics: part.metrics } : registry
      addPages(page, { rooms, version, registry: nodeRegistry, listNotReady, portalPage })
    },
  )
  const mounted = mountBefore(handler, issuer, { name: 'tokens', metrics, headers, accepting })
  return { app, handler: mounted, listNotReady }
}

async function listOwnNotReady({ health, checks, now }: Parts): Promise<NotReady[]> {
  const database = await health.check()
  const { phase, http, gateway } = now()
  const reasons = {
    service: standings[phase],
    database,
    enforcement: checks.describe(),
    http: http?.describeMissing() ?? null,
    gateway: gateway?.describeMissing() ?? null,
  }
  return Object.entries(reasons).flatMap(([name, reason]) => (reason === null ? [] : [{ name, reason }]))
}

/** A process that serves HTTP answers for its node, and has connections of its own to the store. */
async function joinNotReady(part: NonNullable<StartOptions['part']>, health: StoreHealth) {
  const [node, reason] = await Promise.all([part.listNotReady(), health.check()])
  const isKnown = reason === null || node.some(({ name }) => name === 'database')
  return isKnown ? node : [...node, { name: 'database', reason }]
}
