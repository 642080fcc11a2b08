import { tracer } from '../../kernel/tracer.ts'
import type { SessionEvent } from '../ports.ts'

/** Gives each session that ended a span, where traces are on. Workers report to the node: it makes them all. */
export function traceSessions(events: readonly SessionEvent[]): void {
  if (!tracer) return
  for (const event of events) {
    if (event.kind !== 'ended') continue
    const { session, at, seconds, statements } = event
    const attributes = {
      'masquerade.database': session.database.id,
      'masquerade.session': session.id,
      'masquerade.statements': statements,
      'masquerade.encrypted': session.encrypted,
    }
    tracer.record('gateway session', attributes, new Date(at.getTime() - seconds * 1000), at)
  }
}
