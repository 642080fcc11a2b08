import { loginMarkPrefix, longestMark } from '../../db/login-mark.ts'
import type { Sql } from '../../db/sql.ts'
import { findStarting, outwait } from '../sessions/starting.ts'
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
    const rows = await sql<{ holds: number | null; oid: number; comment: string }[]>`
      with recursive held (holds, oid) as (
        select oid, oid from pg_catalog.pg_roles where oid = any(${roles}::int8[]::oid[])
        union
        select held.holds, m.member from held join pg_catalog.pg_auth_members m on m.roleid = held.oid
      )
      select held.holds::int8 as holds, held.oid::int8 as oid, d.description as comment
      from held join pg_catalog.pg_shdescription d on d.objoid = held.oid where ${hasMark('')}
      union all
      select null, d.objoid::int8, d.description from pg_catalog.pg_shdescription d where ${hasMark(`${endingMark}%`)}`
    const members: Neighbour[] = []
    const former: (Omit<Neighbour, 'holds'> & { readonly isSure: boolean })[] = []
    for (const { holds, oid: login, comment } of rows) {
      const mark = readMark(comment, login, keys)
      if (!mark) continue
      const { databaseId: id, ending, left } = mark
      const isOther = id !== databaseId
      if (holds !== null && isOther) members.push({ databaseId: id, holds, login })
      const isSure = left !== undefined
      if (holds === null && (isSure || (isOther && ending))) former.push({ databaseId: id, login, isSure })
    }
    const unsure = new Set(former.filter(({ isSure }) => !isSure).map(({ login }) => login))
    const open = unsure.size === 0 ? unsure : await findOpen(sql, unsure)
    // Any of them may act as any of the roles: one for each database tells as much as all.
    const left = new Map(
      former.flatMap(({ isSure, ...one }) => (isSure || open.has(one.login) ? [[one.databaseId, one]] : [])),
    )
    // Login roles have no members (GATE-07).
    const isLogin = new Set(rows.flatMap(({ holds, oid }) => (holds === oid ? [oid] : [])))
    const others = roles.filter((holds) => !isLogin.has(holds))
    return [...members, ...others.flatMap((holds) => [...left.values()].map((one) => ({ ...one, holds })))]
  }
}

/** Most sessions have started by then. */
const startMs = 300

/** Those of the login roles that have sessions in this database, or may have: PostgreSQL shows no role of one that is starting. */
async function findOpen(sql: Sql, logins: ReadonlySet<number>): Promise<ReadonlySet<number>> {
  const starting = await findStarting(sql, 'here')
  if ((await outwait(sql, starting, 'here', startMs)).length > 0) return logins
  // A transaction would see sessions as they were when it first looked at them.
  await sql`select pg_catalog.pg_stat_clear_snapshot()`
  const rows = await sql<{ oid: number }[]>`
    select distinct usesysid::int8 as oid from pg_catalog.pg_stat_activity
    where datname = pg_catalog.current_database() and usesysid = any(${[...logins]}::int8[]::oid[])`
  return new Set(rows.map(({ oid }) => oid))
}

export type FindNeighbours = ReturnType<typeof createNeighbourFinder>
