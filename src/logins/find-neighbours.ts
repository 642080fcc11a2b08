import { loginMarkPrefix, longestMark } from '../db/login-mark.ts'
import type { Sql } from '../db/sql.ts'
import type { FindNeighbours, Neighbour } from '../masks/held-roles.ts'
import { findStarting, outwait } from '../masks/sessions/starting.ts'
import { endingMark, type LoginKeys, readMark } from './mark.ts'

/** Most sessions have started by then. */
const startMs = 300

/**
 * Asks the server of the roles, given by OID, for the other databases whose login roles are members of them at any
 * depth, or may act as them: sessions of before a loss may be open here, or at standbys. There login roles of this
 * database count as well.
 */
export function createNeighbourFinder(
  databaseId: string,
  keys: Pick<LoginKeys, 'sign' | 'signOtherwise'>,
): FindNeighbours {
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
      select null, d.objoid::int8, d.description
      from pg_catalog.pg_shdescription d where ${hasMark(`${endingMark}%`)}`
    const members: Neighbour[] = []
    // Any of them may act as any of the roles: one for each database tells as much as all.
    const former = new Map<string, Omit<Neighbour, 'holds'>>()
    const hasSession = await readSessions(sql, rows)
    for (const { holds, oid: login, comment } of rows) {
      const mark = readMark(comment, login, keys)
      if (!mark) continue
      const isOther = mark.databaseId !== databaseId
      const one = { databaseId: mark.databaseId, login }
      if (holds !== null && isOther) members.push({ ...one, holds })
      const isOpen = mark.left !== undefined || (isOther && hasSession(login))
      if (holds === null && isOpen) former.set(mark.databaseId, one)
    }
    // Login roles have no members (GATE-07).
    const isLogin = new Set(rows.flatMap(({ holds, oid }) => (holds === oid ? [oid] : [])))
    const others = roles.filter((holds) => !isLogin.has(holds))
    return [...members, ...others.flatMap((holds) => [...former.values()].map((one) => ({ ...one, holds })))]
  }
}

/** Whether a login role may have a session in this database: PostgreSQL shows no role of one that is starting. */
async function readSessions(
  sql: Sql,
  rows: readonly { readonly holds: number | null; readonly oid: number }[],
): Promise<(login: number) => boolean> {
  const ending = rows.filter(({ holds }) => holds === null).map(({ oid }) => oid)
  if (ending.length === 0) return () => false
  if ((await outwait(sql, await findStarting(sql, 'here'), 'here', startMs)).length > 0) return () => true
  // A transaction would see sessions as they were when it first looked at them.
  await sql`select pg_catalog.pg_stat_clear_snapshot()`
  const shown = await sql<{ oid: number }[]>`
    select distinct usesysid::int8 as oid from pg_catalog.pg_stat_activity
    where datname = pg_catalog.current_database() and usesysid = any(${ending}::int8[]::oid[])`
  return (login) => shown.some(({ oid }) => oid === login)
}
