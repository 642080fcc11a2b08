import type { Sql } from '../db/sql.ts'
import type { Exempt, Header, Oid, Snapshot } from './model.ts'
import type { HeldRole, Policy } from './policy.ts'
import { readExempt } from './read/snapshot.ts'

/**
 * A database, of which a login role is a member of a role of this server, or may act as it in a session from before.
 */
export interface Neighbour {
  readonly databaseId: string
  /** The OID of the role. */
  readonly holds: number
  /** The OID of the login role; that of the role itself where it is one. */
  readonly login: number
}

export type FindNeighbours = (sql: Sql, roles: readonly Oid[]) => Promise<Neighbour[]>

/**
 * The exempt roles without those that would newly be exempt while a login role of another database is one of them or
 * their member: a person could connect to this database with it. Roles that are exempt already stay.
 */
export async function holdExempt(
  sql: Sql,
  policy: Policy,
  header: Header | null,
  version: number,
  find: FindNeighbours | undefined,
): Promise<{ policy: Policy & { readonly heldRoles?: readonly HeldRole[] }; exempt: Exempt }> {
  const exempt = await readExempt(sql, policy, version, policy.heldOids ?? [])
  if (!find || policy.rules.length === 0 || exempt.everybody) return { policy, exempt }
  const recorded = new Set(header?.madeHere ? (header.exemptOids ?? []) : [])
  const fresh = [...exempt.roles].filter((oid) => !recorded.has(oid))
  if (fresh.length === 0) return { policy, exempt }
  const found = Map.groupBy(await find(sql, fresh), ({ holds }) => holds)
  const held = fresh.filter((oid) => found.has(oid)).sort((one, other) => one - other)
  if (held.length === 0) return { policy, exempt }
  const rows = await sql<{ oid: Oid; name: string; isBelow: boolean }[]>`
    select r.oid::int8 as oid, r.rolname::text as name, exists (select from pg_catalog.pg_auth_members m
      where m.member = r.oid and m.roleid = any(${held}::oid[])) as "isBelow"
    from pg_catalog.pg_roles r where r.oid = any(${held}::oid[]) order by 1`
  const heldRoles = rows
    .filter(({ isBelow }) => !isBelow)
    .map(({ oid, name }): HeldRole => {
      const own = found.get(oid) ?? []
      return {
        role: own.some(({ login }) => login === oid) ? null : name,
        neighbours: [...new Set(own.map(({ databaseId }) => databaseId))],
      }
    })
  const names = new Set(rows.map(({ name }) => name))
  const without = {
    ...policy,
    exemptRoles: policy.exemptRoles.filter((name) => !names.has(name)),
    heldOids: held,
    heldRoles,
  }
  return { policy: without, exempt: await readExempt(sql, without, version, held) }
}

export const listExemptNames = ({ exempt, roleNames }: Snapshot): string[] =>
  [...exempt.roles].flatMap((oid) => roleNames.get(oid) ?? [])
