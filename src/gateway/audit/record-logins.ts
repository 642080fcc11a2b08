import { randomUUID } from 'node:crypto'
import { RateLimiterMemory } from 'rate-limiter-flexible'
import { writeAudit } from '../../db/audit.ts'
import type { Query } from '../../db/query.ts'
import { nameNetwork } from '../../kernel/network.ts'
import type { GatewayPorts, Principal } from '../ports.ts'

/**
 * Caps audited refusals: a client can fail to log in any number of times, and the audit must not grow as fast. The
 * metrics count every refusal.
 */
const refusals = { points: 20, duration: 60 }
const maxNameLength = 256

/** Audits logins and refused logins. */
export function createLoginRecords(
  sql: Query,
  tenantId: string,
): Pick<GatewayPorts, 'recordSession' | 'recordRefusal'> {
  const limiter = new RateLimiterMemory(refusals)
  return {
    recordSession: ({ id, role, principal, database: { target }, from, encrypted }) =>
      writeAudit(sql, actorOf(tenantId, principal, role), id, {
        action: 'gateway/connect',
        target,
        after: { role, from, encrypted, ...(principal?.credential && { credential: principal.credential }) },
      }),

    async recordRefusal({ name, principal, database: { target }, from, reason }) {
      const isRare = await limiter.consume(nameNetwork(from)).then(
        () => true,
        () => false,
      )
      if (!isRare) return
      const shown = cut(name, maxNameLength)
      // Without a valid token, the name is only the client's claim: the actor is unknown.
      const actor = actorOf(tenantId, principal, shown)
      await writeAudit(sql, principal ? actor : { ...actor, kind: 'unknown' }, randomUUID(), {
        action: 'gateway/refuse',
        target,
        after: { name: shown, from, reason: cut(reason, 2 * maxNameLength) },
      })
    },
  }
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
