import type { Database } from '../../db/database.ts'
import { quoteIdentifier } from '../../db/quote.ts'
import { endLoginSessions } from '../logins/end-login-sessions.ts'
import { guardSchema } from '../names.ts'
import type { Note } from '../plan.ts'
import { endSession } from './signal-session.ts'

/**
 * Ends the sessions of roles that are no longer exempt: an open cursor would go on returning raw rows. Waits for no table.
 * Roles stay on the list until this has succeeded, and while relations are not closed to them yet. Login roles that we
 * made can be ended without any right. Returns notes about sessions that the role of the binding may not end.
 */
export async function endExemptSessions(
  database: Database,
  logins: readonly { readonly oid: number; readonly name: string }[],
  isAllClosed: boolean,
): Promise<{ ended: number; notes: Note[] }> {
  const { sql } = database
  const nothing = { ended: 0, notes: [] }
  const [found] = await sql<
    { there: boolean }[]
  >`select to_regclass(${`${guardSchema}.policy`}) is not null as there`
  if (!found?.there) return nothing
  const [row] = await sql<{ ending: string[] }[]>`select ending from ${sql(guardSchema)}.policy`
  if (!row || row.ending.length === 0) return nothing
  const own = logins.filter(({ name }) => row.ending.includes(name))
  let ended = own.length === 0 ? 0 : await endLoginSessions(database, own)
  const others = row.ending.filter((name) => !own.some((login) => login.name === name))
  const sessions = await sql<{ pid: number; role: string }[]>`
    select a.pid::int4 as pid, r.rolname::text as role from pg_catalog.pg_stat_activity a
    join pg_catalog.pg_roles r on r.oid = a.usesysid
    -- A superuser sees raw values with or without an exemption.
    where a.datname = current_database() and r.rolname = any(${others}) and a.pid <> pg_backend_pid()
      and r.rolname <> current_user and not r.rolsuper`
  const notes: Note[] = []
  for (const { pid, role } of sessions)
    if (await endSession(sql, pid)) ended++
    else notes.push(describeSession(pid, role))
  if (isAllClosed)
    await sql`
      update ${sql(guardSchema)}.policy
      set ending = array(select unnest(ending) except select unnest(${row.ending}::text[]))`
  return { ended, notes }
}

function describeSession(pid: number, role: string): Note {
  const message = `Session ${pid} of role ${quoteIdentifier(role)}, which is no longer exempt, may hold raw rows of an open cursor, and the role of the binding may not end it. Run: SELECT pg_terminate_backend(${pid}).`
  return { code: 'OpenSession', target: role, message }
}
