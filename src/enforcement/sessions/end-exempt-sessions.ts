import type { Database } from '../../db/database.ts'
import { endLoginSessions } from '../logins/end-login-sessions.ts'
import { guardSchema } from '../names.ts'

/**
 * Ends the sessions of roles that are no longer exempt: an open cursor would go on returning raw rows. Returns how many.
 * Roles stay on the list until this has succeeded. Login roles that we made need no right of us for that.
 */
export async function endSessions(
  database: Database,
  logins: readonly { readonly oid: number; readonly name: string }[],
): Promise<number> {
  const { sql } = database
  const [found] = await sql<
    { there: boolean }[]
  >`select to_regclass(${`${guardSchema}.policy`}) is not null as there`
  if (!found?.there) return 0
  const [row] = await sql<{ ending: string[] }[]>`select ending from ${sql(guardSchema)}.policy`
  if (!row || row.ending.length === 0) return 0
  const own = logins.filter(({ name }) => row.ending.includes(name))
  const endedLogins = own.length === 0 ? 0 : await endLoginSessions(database, own)
  const others = row.ending.filter((name) => !own.some((login) => login.name === name))
  const ended = await sql`
    select pg_catalog.pg_terminate_backend(a.pid) from pg_catalog.pg_stat_activity a
    join pg_catalog.pg_roles r on r.oid = a.usesysid
    -- A superuser sees raw values with or without an exemption.
    where a.datname = current_database() and r.rolname = any(${others}) and a.pid <> pg_backend_pid()
      and r.rolname <> current_user and not r.rolsuper`
  await sql`
    update ${sql(guardSchema)}.policy
    set ending = array(select unnest(ending) except select unnest(${row.ending}::text[]))`
  return ended.length + endedLogins
}
