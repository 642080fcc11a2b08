import type { Room } from './api/room.ts'
import type { StoreHealth } from './db/store-health.ts'
import type { ChecksAfterRestore } from './enforcement/states/restored-states.ts'
import type { HttpOptions } from './http/http-options.ts'
import { type Mounted, mountBefore } from './http/mount.ts'
import { addPages, type Readiness } from './http/pages.ts'
import { buildHttp } from './http/server.ts'
import { addPortal } from './portal/add-portal.ts'
import type { StartOptions } from './service.ts'
import { version } from './version.ts'

interface Parts
  extends Omit<HttpOptions, 'runner' | 'rooms'>,
    Pick<HttpOptions['runner'], 'database' | 'gatekeeper'> {
  readonly rooms: readonly Room[]
  readonly health: StoreHealth
  readonly checks: ChecksAfterRestore
  readonly issuer: Mounted
  readonly issuerUrl: () => string
  readonly part: StartOptions['part']
  readonly portalFolder: string | undefined
}

/** The APIs, the pages and the token service behind one handler, without the listening sockets. */
export async function openServiceHttp(parts: Parts) {
  const { database, gatekeeper, health, checks, rooms, issuer, part, metrics, headers, accepting } = parts
  const readiness: Readiness[] = [
    { name: 'service', check: async () => (accepting() ? null : 'shutting down') },
    { name: 'database', check: () => health.check() },
    { name: 'enforcement', check: async () => checks.describe() },
  ]
  const { log, isTrustedProxy } = parts
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
      addPages(page, { rooms, version, registry: nodeRegistry, readiness, portalPage })
    },
  )
  return { app, handler: mountBefore(handler, issuer, { name: 'tokens', metrics, headers, accepting }) }
}
