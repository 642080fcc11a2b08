import { loginMarkPrefix, longestMark } from '../../db/login-mark.ts'
import type { Sql } from '../../db/sql.ts'
import { readMark } from './mark.ts'
import type { LoginKeys } from './ports.ts'

/** Another database, of which a login role is a member of a role of this server. */
export interface Neighbour {
  readonly databaseId: string
  /** The OID of the role. */
  readonly holds: number
  /** The OID of the login role; that of the role itself where it is one. */
  readonly login: number
}

/** Asks the server of the roles, given by OID, for the other databases whose login roles are members of them at any depth. */
export function createNeighbourFinder(databaseId: string, keys: Pick<LoginKeys, 'sign' | 'signOtherwise'>) {
  return async (sql: Sql, roles: readonly number[]): Promise<Neighbour[]> => {
    const rows = await sql<{ holds: number; oid: number; comment: string }[]>`
      with recursive held (holds, oid) as (
        select oid, oid from pg_catalog.pg_roles where oid = any(${roles}::int8[]::oid[])
        union
        select held.holds, m.member from held join pg_catalog.pg_auth_members m on m.roleid = held.oid
      )
      select held.holds::int8 as holds, held.oid::int8 as oid, d.description as comment
      from held join pg_catalog.pg_shdescription d
        on d.objoid = held.oid and d.classoid = 'pg_catalog.pg_authid'::pg_catalog.regclass
      where case when pg_catalog.pg_column_size(d.description) <= ${longestMark} then starts_with(d.description, ${loginMarkPrefix}) end`
    return rows.flatMap(({ holds, oid, comment }) => {
      const mark = readMark(comment, oid, keys)
      return mark && mark.databaseId !== databaseId
        ? [{ databaseId: mark.databaseId, holds, login: oid }]
        : []
    })
  }
}

export type FindNeighbours = ReturnType<typeof createNeighbourFinder>
