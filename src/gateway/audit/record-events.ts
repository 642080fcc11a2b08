import { writeAudits } from '../../db/audit.ts'
import type { Query } from '../../db/query.ts'
import type { SessionEvent } from '../ports.ts'
import { actorOf } from './record-logins.ts'

/** Audits what sessions touched and that they ended, under the id of the entry of their login. */
export async function recordEvents(
  sql: Query,
  tenantId: string,
  events: readonly SessionEvent[],
): Promise<void> {
  await writeAudits(
    sql,
    events.map((event) => {
      const { id, role, principal, database, from } = event.session
      return {
        at: event.at,
        actor: actorOf(tenantId, principal, role),
        requestId: id,
        action: event.kind === 'touched' ? 'gateway/touch' : 'gateway/disconnect',
        target: database.target,
        after: { role, from, ...describe(event) },
      }
    }),
  )
}

function describe(event: SessionEvent): object {
  if (event.kind === 'ended') return { seconds: event.seconds, statements: event.statements }
  const statements = event.touches.map(({ kind, masked, raw, written, isUnparsed, count }) => ({
    kind,
    count,
    ...(masked.length > 0 && { masked }),
    ...(raw.length > 0 && { raw }),
    ...(written.length > 0 && { written }),
    ...(isUnparsed && { unparsed: true }),
  }))
  return { statements, ...(event.leftOut > 0 && { leftOut: event.leftOut }) }
}
