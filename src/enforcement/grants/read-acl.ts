import type { Query, Row, Sql } from '../../db/sql.ts'
import type { Grant, Right } from '../catalog.ts'

/** An entry of an access control list as the catalog has it. */
export interface AclEntry {
  readonly grantor: number
  /** 0: PUBLIC. */
  readonly grantee: number
  readonly grantable: boolean
  readonly privilege: string
}

/** SELECT, and the privileges that lead to values. */
export const watchedPrivileges = ['SELECT', 'TRIGGER', 'REFERENCES', 'MAINTAIN']

/** Names of roles by OID. Joining them for each list in SQL would take longer than everything else about a relation. */
export type RoleNames = ReadonlyMap<number, string>

/** SELECT alone, unless privileges are named. A null list is the default, which gives them to the owner only. */
export function aclAsJson(tx: Sql, acl: Query<Row[]>, privileges: readonly string[] = ['SELECT']) {
  return tx`coalesce((case when ${acl} is not null then (
    select json_agg(json_build_object('grantor', a.grantor::int8, 'grantee', a.grantee::int8,
      'grantable', a.is_grantable, 'privilege', a.privilege_type))
    from pg_catalog.aclexplode(${acl}) a where a.privilege_type = any(${privileges}::text[])) end), '[]')`
}

/** Of a row `c` of pg_class: grantees of other privileges than the watched ones, on it or on a column, each with its grantor. */
export function writersAsJson(tx: Sql) {
  return tx`(select coalesce(json_agg(json_build_object('grantor', w.grantor::int8, 'grantee', w.grantee::int8)), '[]') from (
    select distinct a.grantor, a.grantee from (
      select c.relacl as list union all select n.attacl from pg_catalog.pg_attribute n where n.attrelid = c.oid and n.attacl is not null
    ) l, pg_catalog.aclexplode(l.list) a where a.privilege_type <> all(${watchedPrivileges}::text[])) w)`
}

interface Privilege extends Grant {
  readonly privilege: string
}

/** Leaves out entries of roles that were dropped meanwhile. */
export function nameRoles<E extends Pick<AclEntry, 'grantor' | 'grantee'>>(
  acl: readonly E[],
  names: RoleNames,
) {
  return acl.flatMap(({ grantor, grantee, ...entry }) => {
    const [by, to] = [names.get(grantor), grantee === 0 ? null : names.get(grantee)]
    return by === undefined || to === undefined ? [] : [{ grantor: by, grantee: to, ...entry }]
  })
}

function nameEntries(acl: readonly AclEntry[], names: RoleNames): Privilege[] {
  const named = nameRoles(acl, names)
  return named.length < 2 ? named : named.sort((one, other) => (orderOf(one) < orderOf(other) ? -1 : 1))
}

/** PUBLIC comes last. */
function orderOf({ grantor, grantee, privilege }: Privilege): string {
  return [grantor, grantee === null ? '\u{10ffff}' : grantee, privilege].join('\0')
}

export function listGrants(acl: readonly AclEntry[], names: RoleNames): Grant[] {
  return nameEntries(
    acl.filter(({ privilege }) => privilege === 'SELECT'),
    names,
  ).map(({ privilege: _, ...grant }) => grant)
}

export function listRights(acl: readonly AclEntry[], names: RoleNames, column: number | null): Right[] {
  return nameEntries(
    acl.filter(({ privilege }) => privilege !== 'SELECT'),
    names,
  ).map((right) => ({ ...right, column }))
}
