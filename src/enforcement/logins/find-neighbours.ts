import { loginMarkPrefix, longestMark } from '../../db/login-mark.ts'
import type { Sql } from '../../db/sql.ts'
import { findStarting } from '../sessions/starting.ts'
import { endingMark, readMark } from './mark.ts'
import type { LoginKeys } from './ports.ts'

/** A database, of which a login role is a member of a role of this server, or may act as it in a session from before. */
export interface Neighbour {
  readonly databaseId: string
  /** The OID of the role. */
  readonly holds: number
  /** The OID of the login role; that of the role itself where it is one. */
  readonly login: number
}

/**
 * Asks the server of the roles, given by OID, for the other databases whose login roles are members of them at any depth, or may have been
 * before they lost something, as long as sessions of theirs may be open in this one. At standbys that is not known: there login roles of
 * this database count as well, until their sessions have ended.
 */
export function createNeighbourFinder(databaseId: string, keys: Pick<LoginKeys, 'sign' | 'signOtherwise'>) {
  return async (sql: Sql, roles: readonly number[]): Promise<Neighbour[]> => {
    const hasMark = (end: string) => sql`d.classoid = 'pg_catalog.pg_authid'::pg_catalog.regclass and case
      when pg_catalog.pg_column_size(d.description) <= ${longestMark}
      then starts_with(d.description, ${loginMarkPrefix}) and d.description like ${`%${end}`} end`
    // One statement: a login role loses a role and gets the mark of its sessions in one transaction.
    const rows = await sql<{ holds: number; oid: number; comment: string; isMember: boolean }[]>`
      with recursive held (holds, oid) as (
        select oid, oid from pg_catalog.pg_roles where oid = any(${roles}::int8[]::oid[])
        union
        select held.holds, m.member from held join pg_catalog.pg_auth_members m on m.roleid = held.oid
      )
      select held.holds::int8 as holds, held.oid::int8 as oid, d.description as comment, true as "isMember"
      from held join pg_catalog.pg_shdescription d on d.objoid = held.oid where ${hasMark('')}
      union all
      select r.oid::int8, d.objoid::int8, d.description, false from pg_catalog.pg_shdescription d, pg_catalog.pg_roles r
      -- Login roles have no members (GATE-07).
      where ${hasMark(`${endingMark}%`)} and r.oid = any(${roles}::int8[]::oid[])
        and not exists (select from pg_catalog.pg_shdescription d where d.objoid = r.oid and ${hasMark('')})`
    const found = rows.flatMap(({ holds, oid, comment, isMember }) => {
      const mark = readMark(comment, oid, keys)
      if (!mark) return []
      const isLeft = !isMember && mark.left !== undefined
      const isOther = mark.databaseId !== databaseId && (isMember || mark.ending)
      return isLeft || isOther
        ? [{ databaseId: mark.databaseId, holds, login: oid, isSure: isMember || isLeft }]
        : []
    })
    const former = new Set(found.filter(({ isSure }) => !isSure).map(({ login }) => login))
    const open = former.size === 0 ? former : await findOpen(sql, former)
    return found.flatMap(({ isSure, ...one }) => (isSure || open.has(one.login) ? [one] : []))
  }
}

/** Those of the login roles that have sessions in this database, or may have: PostgreSQL shows no role of one that is starting. */
async function findOpen(sql: Sql, logins: ReadonlySet<number>): Promise<ReadonlySet<number>> {
  if ((await findStarting(sql, 'here')).length > 0) return logins
  const rows = await sql<{ oid: number }[]>`
    select distinct usesysid::int8 as oid from pg_catalog.pg_stat_activity
    where datname = pg_catalog.current_database() and usesysid = any(${[...logins]}::int8[]::oid[])`
  return new Set(rows.map(({ oid }) => oid))
}

export type FindNeighbours = ReturnType<typeof createNeighbourFinder>
