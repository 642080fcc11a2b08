import type { Logger } from 'pino'
import type { Auth } from '../../auth/open-auth.ts'
import type { Database } from '../../db/database.ts'
import { createPublicGuard } from '../../db/host-guard.ts'
import type { Pulse } from '../../db/pulse.ts'
import type { SecretBox } from '../../kernel/secret-box.ts'
import { readStanding } from '../accounts/standing.ts'
import { Notifier } from './notifier.ts'
import { type NotificationPorts, validateAddress } from './validate-address.ts'

interface NotificationOptions {
  readonly database: Database
  readonly pulse: Pulse
  readonly tenantId: string
  readonly settings: { readonly notificationHosts: readonly string[] }
  readonly secrets: SecretBox
  readonly auth: Pick<Auth, 'findRevoked' | 'gatekeeper'>
  readonly log: Logger
}

export interface Notifications extends NotificationPorts {
  /** The directory may have changed. */
  hear(): void
  close(): Promise<void>
}

export function openNotifications(options: NotificationOptions): Notifications {
  const { database, pulse, tenantId, settings, secrets, auth, log } = options
  const guard = createPublicGuard(settings.notificationHosts)
  const notifier = new Notifier({
    sql: database.sql,
    pulse,
    tenantId,
    guard,
    secrets,
    log,
    findRevoked: auth.findRevoked,
    readStanding: (...ids) => readStanding(database.sql, tenantId, ...ids),
  })
  return {
    groundsOf: (caller) => auth.gatekeeper.groundsOf(caller),
    validate: (address) => validateAddress(guard, log, address),
    hear: () => notifier.hear(),
    close: () => notifier.close(),
  }
}
