import type { Database } from '../../db/database.ts'
import { quoteIdentifier } from '../../db/quote.ts'
import type { Note } from '../plan.ts'
import { endSession, findSessions } from './signal-session.ts'

/**
 * Ends sessions at a standby of roles that lost their exemption: their open cursors go on, and what ends sessions at the primary
 * is not replayed. Returns notes about sessions that the role of the binding may not end.
 */
export async function endAtStandby(
  { sql }: Pick<Database, 'sql'>,
  standby: string,
  roles: readonly string[],
): Promise<Note[]> {
  const notes: Note[] = []
  for (const { pid, role } of await findSessions(sql, roles))
    if (!(await endSession(sql, pid))) notes.push(describeSession(standby, pid, role))
  return notes
}

function describeSession(standby: string, pid: number, role: string): Note {
  const message = `Session ${pid} of role ${quoteIdentifier(role)} at the standby ${standby} may hold raw rows of an open cursor: the role is no longer exempt, and the role of the binding may not end it. Run there: SELECT pg_terminate_backend(${pid}).`
  return { code: 'OpenSession', target: role, message }
}
