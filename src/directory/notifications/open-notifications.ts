import type { Logger } from 'pino'
import type { Database } from '../../db/database.ts'
import { createPublicGuard } from '../../db/host-guard.ts'
import type { SecretBox } from '../../kernel/secret-box.ts'
import { readStanding } from '../accounts/standing.ts'
import { Notifier } from './notifier.ts'
import { type NotificationPorts, validateAddress } from './validate-address.ts'

interface NotificationOptions {
  readonly database: Database
  readonly tenantId: string
  readonly settings: { readonly notificationHosts: readonly string[] }
  readonly secrets: SecretBox
  readonly log: Logger
}

export interface Notifications extends NotificationPorts {
  /** The directory may have changed. */
  hear(): void
  close(): Promise<void>
}

export function openNotifications(options: NotificationOptions): Notifications {
  const { database, tenantId, settings, secrets, log } = options
  const guard = createPublicGuard(settings.notificationHosts)
  const notifier = new Notifier({
    sql: database.sql,
    tenantId,
    guard,
    secrets,
    log,
    readStanding: (...ids) => readStanding(database.sql, tenantId, ...ids),
  })
  return {
    validate: (address) => validateAddress(guard, log, address),
    hear: () => notifier.hear(),
    close: () => notifier.close(),
  }
}
