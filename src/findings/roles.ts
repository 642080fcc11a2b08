import type { Sql } from '../db/sql.ts'
import type { Policy } from '../masks/policy.ts'

export interface Role {
  readonly oid: number
  readonly name: string
  readonly superuser: boolean
  /** Words of ALTER ROLE that leave it nothing but ownership: `NOLOGIN`, `NOBYPASSRLS` … */
  readonly excess: readonly string[]
  /** Roles that it is a direct member of, with or without inheriting from them. */
  readonly memberOf: readonly string[]
}

/**
 * A member holds a role when it may SET ROLE to it or inherits from it; since 16 an ADMIN option alone gives neither.
 */
export async function readRoles(tx: Sql, version: number): Promise<Map<string, Role>> {
  const holds = version >= 160000 ? tx`and (m.inherit_option or m.set_option)` : tx``
  const rows = await tx<Role[]>`
    select r.oid::int8 as oid, r.rolname::text as name, r.rolsuper as superuser,
      array_remove(array[case when r.rolcanlogin then 'NOLOGIN' end, case when r.rolsuper then 'NOSUPERUSER' end,
        case when r.rolbypassrls then 'NOBYPASSRLS' end, case when r.rolcreaterole then 'NOCREATEROLE' end,
        case when r.rolcreatedb then 'NOCREATEDB' end,
        case when r.rolreplication then 'NOREPLICATION' end], null) as excess,
      array(select g.rolname::text from pg_catalog.pg_auth_members m
        join pg_catalog.pg_roles g on g.oid = m.roleid where m.member = r.oid ${holds}) as "memberOf"
    from pg_catalog.pg_roles r`
  return new Map(rows.map((role) => [role.name, role]))
}

/**
 * A role and every role that it is a member of, at any depth. Membership may go in a circle through nothing but
 * itself.
 */
export function withAncestors(roles: ReadonlyMap<string, Role>, name: string): ReadonlySet<string> {
  const found = new Set([name])
  for (const each of found) for (const parent of roles.get(each)?.memberOf ?? []) found.add(parent)
  return found
}

/**
 * The entries of an exempt list whose names still lead to the roles that they were judged by. Others count again with
 * the next turn.
 */
export function listJudged(
  { exemptRoles, judgedRoles }: Pick<Policy, 'exemptRoles' | 'judgedRoles'>,
  roles: ReadonlyMap<string, Role>,
): string[] {
  return exemptRoles.filter((entry) => {
    const [judged, role] = [judgedRoles?.get(entry), roles.get(entry)]
    return judged === undefined || role === undefined || role.oid === judged
  })
}

/** Says of each grantee (null: PUBLIC) whether the policy exempts it. */
export function exemptions(roles: ReadonlyMap<string, Role>, listed: readonly string[]) {
  // No role can be called "public", but one can be called "PUBLIC".
  const everybody = listed.some((name) => name.toLowerCase() === 'public' && !roles.has(name))
  const names = new Set(listed)
  const isListed = (role: string) => [...withAncestors(roles, role)].some((name) => names.has(name))
  const exempt = new Set([...roles.keys()].filter((name) => everybody || isListed(name)))
  return {
    roles: exempt,
    everybody,
    includes: (grantee: string | null) => everybody || (grantee !== null && exempt.has(grantee)),
  }
}
