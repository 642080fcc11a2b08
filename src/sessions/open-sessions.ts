import type { Note } from '../contracts/note.ts'
import { nameRole } from './holder.ts'

/** A role that is no longer exempt and whose sessions are to end, or such a session that is still open. */
export interface OpenEntry {
  /** Its OID: the role may be renamed or dropped, and another one may take the name. */
  readonly role: number
  readonly name: string
  /** Absent: the role. */
  readonly pid?: number
  /** Its sessions were looked at once, and not everything is closed. */
  readonly isSeen?: boolean
  /** Its sessions at the primary have ended. A standby that has replayed so far shows the loss. */
  readonly left?: string
}

export const isRole = ({ pid }: OpenEntry) => pid === undefined

/** About sessions that go on, and those at standbys that may. */
export function noteOpen(open: readonly OpenEntry[]): Note[] {
  return open
    .filter(({ pid, left }) => pid !== undefined || left !== undefined)
    .map(({ role, name, pid }) => {
      const what = `of ${nameRole(name, role)}, which is no longer exempt, may hold raw rows of open cursors`
      const message =
        pid === undefined
          ? `Sessions at standbys ${what}, and go on.`
          : `Session ${pid} ${what}, and goes on. Run: SELECT pg_terminate_backend(${pid}).`
      return { code: 'OpenSession', target: name, message }
    })
}
