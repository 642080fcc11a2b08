import type { Database } from '../../db/database.ts'
import { quoteIdentifier } from '../../db/quote.ts'
import type { Sql } from '../../db/sql.ts'
import { endLoginSessions } from '../logins/end-login-sessions.ts'
import type { Note } from '../plan.ts'
import { endSession, findSessions } from './signal-session.ts'

/** Roles that are no longer exempt, and where they were recorded. */
export interface Ending {
  readonly databaseId: string
  /** The schema of our records. */
  readonly schema: string
  readonly roles: readonly string[]
  /** Login roles that we made: their sessions can be ended without any right. */
  readonly logins: readonly { readonly oid: number; readonly name: string }[]
  /** Nothing is readable any more that was only for exempt roles. */
  readonly isAllClosed: boolean
}

/**
 * Ends the sessions of roles that are no longer exempt: an open cursor would go on returning raw rows. Waits for no table.
 * While a lock keeps a relation from being closed, the roles stay on the list, and each try looks at the sessions of the
 * first one alone: sessions that began later read through masks, and must not be ended again and again.
 */
export class ExemptSessions {
  readonly #seen = new Map<string, { readonly roles: string; readonly pids: ReadonlySet<number> }>()

  /** Returns notes about sessions that the role of the binding may not end. */
  async end(database: Database, ending: Ending): Promise<{ ended: number; notes: Note[] }> {
    const { databaseId, schema, roles, logins, isAllClosed } = ending
    if (roles.length === 0) return { ended: 0, notes: [] }
    const known = this.#seen.get(databaseId)
    const earlier = !isAllClosed && known?.roles === roles.join() ? known.pids : null
    const own = logins.filter(({ name }) => roles.includes(name))
    let ended = earlier || own.length === 0 ? 0 : await endLoginSessions(database, own)
    const others = roles.filter((name) => !own.some((login) => login.name === name))
    const sessions = await findSessions(database.sql, others)
    const notes: Note[] = []
    for (const { pid, role } of sessions.filter((one) => earlier?.has(one.pid) ?? true))
      if (await endSession(database.sql, pid)) ended++
      else notes.push(describeSession(pid, role))
    if (isAllClosed) await forgetRoles(database.sql, schema, roles)
    if (isAllClosed) this.#seen.delete(databaseId)
    else if (!earlier)
      this.#seen.set(databaseId, { roles: roles.join(), pids: new Set(sessions.map(({ pid }) => pid)) })
    return { ended, notes }
  }
}

async function forgetRoles(sql: Sql, schema: string, roles: readonly string[]): Promise<void> {
  await sql`
    update ${sql(schema)}.policy
    set ending = array(select unnest(ending) except select unnest(${roles}::text[]))`
}

function describeSession(pid: number, role: string): Note {
  const message = `Session ${pid} of role ${quoteIdentifier(role)}, which is no longer exempt, may hold raw rows of an open cursor, and the role of the binding may not end it. Run: SELECT pg_terminate_backend(${pid}).`
  return { code: 'OpenSession', target: role, message }
}
