import type { Logger } from 'pino'
import { type LaterEntry, writeStorableAudits } from '../../db/audit.ts'
import type { Database } from '../../db/database.ts'
import type { GatewayMetrics } from '../metrics.ts'
import type { SessionEvent } from '../ports.ts'
import { actorOf } from './record-logins.ts'

export interface EventRecords {
  readonly database: Pick<Database, 'sql' | 'transaction'>
  readonly tenantId: string
  readonly metrics: Pick<GatewayMetrics, 'auditLost'>
  readonly log: Logger
}

/** Audits what sessions touched and that they ended, under the id of the entry of their login. */
export function createEventRecords({ database, tenantId, metrics, log }: EventRecords) {
  return async (events: readonly SessionEvent[]): Promise<void> => {
    const entries = events.map((event): LaterEntry => {
      const { id, role, principal, database, from } = event.session
      return {
        at: event.at,
        actor: actorOf(tenantId, principal, role),
        requestId: id,
        action: event.kind === 'touched' ? 'gateway/touch' : 'gateway/disconnect',
        target: database.target,
        after: { role, from, ...describe(event) },
      }
    })
    const refused = await writeStorableAudits(database, entries)
    if (refused.length === 0) return
    metrics.auditLost(refused.length)
    const targets = [...new Set(refused.map(({ target }) => target))]
    log.error(
      { count: refused.length, targets },
      'the store refuses the content of audit entries: they are lost',
    )
  }
}

function describe(event: SessionEvent): object {
  if (event.kind === 'ended') return { seconds: event.seconds, statements: event.statements }
  const statements = event.touches.map(({ kind, masked, raw, written, denied, isUnparsed, count }) => ({
    kind,
    count,
    ...(masked.length > 0 && { masked }),
    ...(raw.length > 0 && { [event.isObserved ? 'wouldMask' : 'raw']: raw }),
    ...(written.length > 0 && { written }),
    ...(denied.length > 0 && { denied }),
    ...(isUnparsed && { unparsed: true }),
  }))
  return { statements, ...(event.leftOut > 0 && { leftOut: event.leftOut }) }
}
