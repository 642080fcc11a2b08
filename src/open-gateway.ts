import type { Logger } from 'pino'
import type { Registry } from 'prom-client'
import { createLoginCheck } from './auth/database-login.ts'
import type { Auth } from './auth/open-auth.ts'
import type { Database } from './db/database.ts'
import { createCancelNotice } from './db/events.ts'
import type { HostGuard } from './db/host-guard.ts'
import { recordLogins } from './directory/audit-logs/record-logins.ts'
import type { SignInLog } from './directory/audit-logs/sign-in-log.ts'
import { findLoginName } from './directory/principals/find-login-name.ts'
import { createMaskReader } from './findings/per-role/read-masked.ts'
import { createEventRecords } from './gateway/audit/record-events.ts'
import { createLoginRecords } from './gateway/audit/record-logins.ts'
import { type Gateway, openGateway } from './gateway/gateway.ts'
import { readLimits } from './gateway/limits.ts'
import { createGatewayMetrics } from './gateway/metrics.ts'
import { loadConfigured } from './http/certificates.ts'
import { createLoginThrottle } from './issuer/sign-in-throttle.ts'
import type { NodeCertificate } from './kernel/node-name.ts'
import { createBackendEnding } from './logins/end-backends.ts'
import { createFinders } from './masking/binding/create-finders.ts'
import { findMaskedPlaces } from './masking/states/list-states.ts'
import type { openCredentials } from './open-credentials.ts'
import type { openEnforcement } from './open-enforcement.ts'
import type { Settings } from './settings.ts'

interface Parts extends ReturnType<typeof openEnforcement> {
  readonly settings: Settings
  readonly database: Database
  readonly tenantId: string
  readonly guard: HostGuard
  readonly auth: Pick<Auth, 'gatekeeper' | 'findRevoked'>
  readonly logins: ReturnType<typeof openCredentials>['logins']
  readonly signIns: SignInLog
  readonly nodeCertificate: NodeCertificate
  readonly registry: Registry
  readonly log: Logger
}

/** The gateway with its ports to the other rooms. Its logins are checked by the gatekeeper of `auth`, never by the emulator's. */
export async function openServiceGateway(parts: Parts): Promise<Gateway> {
  const { settings, database, tenantId, enforcement, source, auth, nodeCertificate, log } = parts
  const locator = { guard: parts.guard, findPrimary: (id: string) => enforcement.findPrimary(id) }
  const metrics = createGatewayMetrics(parts.registry)
  const records = createLoginRecords({ sql: database.sql, tenantId, metrics, log })
  const gateway = await openGateway({
    host: settings.host,
    port: settings.gatewayPort,
    workers: settings.gatewayWorkers,
    limits: readLimits(settings),
    ports: {
      ...createFinders(database.sql, locator, tenantId, settings),
      findMasked: (identities) => findMaskedPlaces(database.sql, identities),
      findStandby: (id, role) => enforcement.standbys.choose(id, role),
      lookAtStandbys: (id, roles) => enforcement.standbys.look(id, roles),
      ...createMaskReader(enforcement, source),
      checkToken: createLoginCheck(auth.gatekeeper, (...who) => findLoginName(database.sql, ...who)),
      ...parts.logins,
      ...createLoginThrottle(database.sql),
      prepareLogin: (id, principalId, isReset) =>
        enforcement.prepareLogin(id, principalId, { reset: isReset }),
      findRevoked: auth.findRevoked,
      endBackends: createBackendEnding(enforcement),
      passCancel: createCancelNotice(database.sql),
      ...recordLogins(records, parts.signIns),
      recordEvents: createEventRecords({ database, tenantId, metrics, log }),
      certificate: () => loadConfigured(settings),
      nodeCertificate: async () => nodeCertificate,
      metrics,
      log,
    },
  })
  const close = gateway.close.bind(gateway)
  return Object.assign(gateway, {
    async close(timeoutMs: number) {
      await close(timeoutMs)
      await records.flush()
    },
  })
}
