import type { Database } from '../db/database.ts'
import { guardSchema } from './names.ts'

/**
 * Ends the sessions of roles that are no longer exempt: an open cursor would go on returning raw rows. Returns how many.
 * Roles stay on the list until this has succeeded.
 */
export async function endSessions({ sql }: Database): Promise<number> {
  const [found] = await sql<
    { there: boolean }[]
  >`select to_regclass(${`${guardSchema}.policy`}) is not null as there`
  if (!found?.there) return 0
  const [row] = await sql<{ ending: string[] }[]>`select ending from ${sql(guardSchema)}.policy`
  if (!row || row.ending.length === 0) return 0
  const ended = await sql`
    select pg_catalog.pg_terminate_backend(a.pid) from pg_catalog.pg_stat_activity a
    join pg_catalog.pg_roles r on r.oid = a.usesysid
    -- A superuser sees raw values with or without an exemption.
    where a.datname = current_database() and r.rolname = any(${row.ending}) and a.pid <> pg_backend_pid()
      and r.rolname <> current_user and not r.rolsuper`
  await sql`
    update ${sql(guardSchema)}.policy
    set ending = array(select unnest(ending) except select unnest(${row.ending}::text[]))`
  return ended.length
}
