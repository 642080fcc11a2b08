import { randomUUID } from 'node:crypto'
import type { Logger } from 'pino'
import { writeAudit } from '../../db/audit.ts'
import type { Query } from '../../db/query.ts'
import type { GatewayMetrics } from '../metrics.ts'
import type { GatewayPorts, Principal, RefusedLogin } from '../ports.ts'
import { FailedLogins } from './failed-logins.ts'

export interface LoginRecordsOptions {
  readonly sql: Query
  readonly tenantId: string
  readonly metrics: Pick<GatewayMetrics, 'loginFailed' | 'auditLost'>
  readonly log: Logger
}

/** Where failed logins stand that reached no database. */
const anyDatabase = '/providers/Vendor.Sql'
const maxNameLength = 256

/** Audits logins, and counts, logs and audits those that failed. */
export function createLoginRecords({ sql, tenantId, metrics, log }: LoginRecordsOptions) {
  const audit = async (login: RefusedLogin, count: number) => {
    const { name, principal, target = anyDatabase, from, failure, reason } = login
    const shown = cut(name ?? '', maxNameLength)
    // Without a valid token, the name is only the client's claim: the actor is unknown.
    const actor = actorOf(tenantId, principal, shown)
    await writeAudit(sql, principal ? actor : { ...actor, kind: 'unknown' }, randomUUID(), {
      action: 'gateway/refuse',
      target,
      after: {
        name: shown,
        from,
        failure,
        reason: cut(reason, 2 * maxNameLength),
        ...(count > 1 && { count }),
      },
    })
  }
  const failed = new FailedLogins(async (login, count) => {
    const { name = '', target, from: address, failure, reason, cause } = login
    const facts = { failure, login: cut(name, maxNameLength), address, database: target, count, err: cause }
    log.warn({ ...facts, reason: cut(reason, 2 * maxNameLength) }, 'a login at the gateway failed')
    await audit(login, count).catch((err: unknown) => {
      metrics.auditLost(1)
      log.error({ err }, 'a failed login cannot be written to the audit')
    })
  })
  return {
    recordSession: ({ id, role, principal, database: { target }, from, encrypted }) =>
      writeAudit(sql, actorOf(tenantId, principal, role), id, {
        action: 'gateway/connect',
        target,
        after: { role, from, encrypted, ...(principal?.credential && { credential: principal.credential }) },
      }),

    async recordRefusal(login) {
      metrics.loginFailed(login.failure)
      failed.add(login)
    },

    flush: () => failed.flush(),
  } satisfies Pick<GatewayPorts, 'recordSession' | 'recordRefusal'> & { flush(): Promise<void> }
}

/** Half of a surrogate pair at the cut becomes U+FFFD: the store refuses it. */
function cut(text: string, length: number): string {
  return text.slice(0, length).toWellFormed()
}

export function actorOf(tenantId: string, principal: Principal | undefined, name: string) {
  if (!principal) return { kind: 'databaseRole', tenantId, objectId: name, applicationId: '' }
  return {
    kind: principal.kind === 'user' ? 'delegated' : 'application',
    tenantId,
    objectId: principal.id,
    applicationId: principal.applicationId,
  }
}
