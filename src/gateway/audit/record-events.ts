import { writeAudits } from '../../db/audit.ts'
import type { Query } from '../../db/query.ts'
import type { SessionEvent } from '../ports.ts'
import { actorOf } from './record-logins.ts'

/** Audits what sessions touched and that they ended, under the id of the entry of their login. */
export async function recordEvents(
  sql: Query,
  tenantId: string,
  events: readonly SessionEvent[],
  wouldMask: (databaseId: string, role: string) => Promise<boolean> = async () => false,
): Promise<void> {
  const observed = await findObserved(events, wouldMask)
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
        after: { role, from, ...describe(event, observed.has(keyOf(event))) },
      }
    }),
  )
}

/** Roles that would see masks, were the policies of their databases enforced. */
async function findObserved(
  events: readonly SessionEvent[],
  wouldMask: (databaseId: string, role: string) => Promise<boolean>,
): Promise<ReadonlySet<string>> {
  const touched = new Map(
    events.filter(({ kind }) => kind === 'touched').map((event) => [keyOf(event), event.session]),
  )
  const found = new Set<string>()
  for (const [key, { database, role }] of touched)
    if (!database.isUnbound && (await wouldMask(database.id, role))) found.add(key)
  return found
}

function keyOf({ session }: SessionEvent): string {
  return JSON.stringify([session.database.id, session.role])
}

function describe(event: SessionEvent, isObserved: boolean): object {
  if (event.kind === 'ended') return { seconds: event.seconds, statements: event.statements }
  const statements = event.touches.map(({ kind, masked, raw, written, isUnparsed, count }) => ({
    kind,
    count,
    ...(masked.length > 0 && { masked }),
    ...(raw.length > 0 && { [isObserved ? 'wouldMask' : 'raw']: raw }),
    ...(written.length > 0 && { written }),
    ...(isUnparsed && { unparsed: true }),
  }))
  return { statements, ...(event.leftOut > 0 && { leftOut: event.leftOut }) }
}
