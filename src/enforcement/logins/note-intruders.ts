import { quoteIdentifier } from '../../db/quote.ts'
import type { Sql } from '../../db/sql.ts'
import type { Note } from '../plan.ts'
import type { ObservedLogin } from './observe-logins.ts'

const mostNamed = 10

/**
 * Notes about open sessions of roles that were members of login roles, until that was revoked: SET ROLE lasts until a session ends. They
 * are not ended. Before PostgreSQL 15 a login role may grant itself to any role, and a person could end that role's sessions so.
 */
export async function noteIntruders(
  sql: Sql,
  logins: readonly Pick<ObservedLogin, 'name' | 'intruders'>[],
): Promise<Note[]> {
  const notes: Note[] = []
  for (const { name, intruders } of logins.filter((login) => login.intruders.length > 0)) {
    const rows = await sql<{ member: string; pids: number[] }[]>`
      with recursive below (member, oid) as (
        select rolname, oid from pg_catalog.pg_roles where rolname = any(${intruders.map(({ member }) => member)}::text[]::name[])
        union
        select below.member, m.member from below join pg_catalog.pg_auth_members m on m.roleid = below.oid
      )
      select below.member::text as member, array_agg(a.pid::int4 order by a.pid) as pids
      from below join pg_catalog.pg_stat_activity a on a.usesysid = below.oid join pg_catalog.pg_roles r on r.oid = below.oid
      where not r.rolsuper and r.rolname <> current_user group by 1 order by 1`
    for (const { member, pids } of rows) {
      const ends = pids.slice(0, mostNamed).map((pid) => `pg_terminate_backend(${pid})`)
      const message = `${quoteIdentifier(member)} was a member of ${quoteIdentifier(name)}, which is revoked. Sessions of it, or of its members, may still act with the roles mapped there. To end them, run: SELECT ${ends.join(', ')}.`
      notes.push({ code: 'LoginRole', target: name, message })
    }
  }
  return notes
}
