import type { Database } from '../db/database.ts'
import { longestMark, markPrefix } from '../db/login-mark.ts'
import { endSessions } from '../sessions/end-sessions.ts'

const greatestOid = 2 ** 32 - 1

/**
 * Ends those backends of a login role of the database, by their process ids, and none that another role has by now. OID
 * and process ids are told by the server of the session, which the database may not be bound to any more: they may name
 * any role of the present one.
 */
export function createBackendEnding(controller: { connect(databaseId: string): Promise<Database | null> }) {
  return async (databaseId: string, roleOid: number, processIds: readonly number[]): Promise<void> => {
    if (roleOid > greatestOid) return
    const database = await controller.connect(databaseId)
    if (!database) return
    const roles = await database.sql<{ oid: number }[]>`
      select r.oid::int8 as oid from pg_catalog.pg_roles r
      join pg_catalog.pg_shdescription d
        on d.objoid = r.oid and d.classoid = 'pg_catalog.pg_authid'::pg_catalog.regclass
      where r.oid = ${roleOid}::int8::oid and case when pg_catalog.pg_column_size(d.description) <= ${longestMark}
        then starts_with(d.description, ${markPrefix(databaseId)}) end`
    const sessions = roles.flatMap(({ oid: role }) => processIds.map((pid) => ({ pid, role })))
    const inherit = { database, roles: roles.map(({ oid }) => oid) }
    await endSessions(database.sql, { roles: [], sessions, scope: 'everywhere', inherit })
  }
}
