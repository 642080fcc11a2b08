import { longestMark } from '../../db/login-mark.ts'
import type { Sql } from '../../db/sql.ts'
import type { Intruder, NamedRole, TwinRole } from '../catalog.ts'
import { nameAttempts, twinOwnerName, twinOwnerPrefix } from '../names.ts'

/** The facts that decide under which name the role of the binding can have an owner of twins. */
export interface TwinOwnerFacts {
  readonly version: number
  readonly database: string
  readonly user: string
  readonly superuser: boolean
  readonly createsRoles: boolean
}

export interface TwinOwner {
  readonly name: string
  readonly intruders: readonly Intruder[]
  /** The role of the binding may act as it, can give itself that right, or can create it. */
  readonly isUsable: boolean
}

/** Roles that are named like owners of twins, by name. */
export type TakenNames = ReadonlyMap<string, TwinRole>

/** Once for many choices: other roles can make thousands of such names. */
export function indexNames(roles: readonly TwinRole[]): TakenNames {
  return new Map(roles.map((role) => [role.name, role]))
}

const names = 4

/**
 * Chooses a role that owns twins. A role that may create roles can create one of that name first, and keep what no REVOKE
 * takes: a session that acts as it, a function of it. Such a role is left alone, and one of another name is created. `served`: the OID of the role whose tables it is to read. Such a
 * role is not usable while another role can act as it, or give itself that right, and the binding cannot revoke that.
 */
export function chooseTwinOwner(
  facts: TwinOwnerFacts,
  taken: readonly TwinRole[] | TakenNames,
  served?: number,
): TwinOwner {
  const { version, database, user, superuser, createsRoles } = facts
  const byName = 'length' in taken ? indexNames(taken) : taken
  const canCreate = superuser || createsRoles
  const describe = (name: string): TwinOwner => {
    const role = byName.get(name)
    return {
      name,
      intruders: role?.members.filter(({ member }) => member !== user) ?? [],
      isUsable: role ? isHeld(facts, role) : canCreate,
    }
  }
  const first = describe(twinOwnerName(database, 0, served))
  if (served !== undefined) return chooseServing()
  for (let from = 0; ; from += names) {
    const wanted = Array.from({ length: names }, (_, at) => describe(twinOwnerName(database, from + at)))
    const there = wanted.filter(({ name, isUsable }) => isUsable && byName.has(name))
    const ours = there.find(({ intruders }) => intruders.every((one) => isRevocable(one, facts)))
    if (ours) return ours
    const keeper = there.find(({ name }) => byName.get(name)?.isKeeper)
    if (!canCreate && keeper) return keeper
    // An operator may have created it, and not granted it yet.
    if (!canCreate && !isMember(byName.get(first.name), user)) return first
    const free = wanted.find(({ name }) => !byName.has(name))
    if (free) return free
  }

  /** Where none is usable: a name that is free, for an operator to prepare. */
  function chooseServing(): TwinOwner {
    const wanted = nameAttempts(database, served).map(describe)
    const ours = wanted.find(({ name, isUsable, intruders }) => {
      const role = byName.get(name)
      const mayRevoke = canCreate || version >= 160000 || role?.isAdministered === true
      return role && isUsable && intruders.every((one) => mayRevoke && isRevocable(one, facts))
    })
    return ours ?? wanted.find(({ name }) => !byName.has(name)) ?? { ...first, isUsable: false }
  }
}

/**
 * A superuser may act as any role, as may one with CREATEROLE before PostgreSQL 16. A binding that can create roles takes those alone that
 * are ours. Where they have to be prepared, one that owns code is not taken.
 */
export function isHeld({ version, user, superuser, createsRoles }: TwinOwnerFacts, role: TwinRole): boolean {
  if (superuser || (createsRoles && version < 160000)) return role.isOurs
  const isFit = role.isOurs || (!createsRoles && (role.isBare || role.isKeeper))
  return isFit && isMember(role, user)
}

function isMember(role: TwinRole | undefined, user: string): boolean {
  return role?.members.some(({ member }) => member === user) ?? false
}

export async function readTwinOwnerFacts(sql: Sql): Promise<TwinOwnerFacts> {
  const [facts] = await sql<TwinOwnerFacts[]>`
    select current_setting('server_version_num')::int as version, current_database()::text as database,
      rolname::text as "user", rolsuper as superuser, rolcreaterole as "createsRoles"
    from pg_catalog.pg_roles where rolname = current_user`
  if (!facts) throw new Error('the server did not answer')
  return facts
}

/** True when the role of the binding may revoke the membership. Since PostgreSQL 16 each one has its own grantor. */
export function isRevocable(
  { grantor }: Intruder,
  { version, user, superuser }: Pick<TwinOwnerFacts, 'version' | 'user' | 'superuser'>,
): boolean {
  return superuser || version < 160000 || grantor === user
}

export async function readTwinRoles(sql: Sql, facts: TwinOwnerFacts): Promise<NamedRole[]> {
  const { version, database, superuser, createsRoles } = facts
  const mayAct = version >= 160000 ? sql`m.inherit_option or m.set_option` : sql`true`
  // Where a role can be created for every owner of tables, none is shared by chance.
  const shared = superuser || createsRoles ? [] : nameAttempts(database)
  const isTrusted = (role: string) => sql`(${sql(role)}.rolsuper or ${sql(role)}.rolname = current_user)`
  return await sql<NamedRole[]>`
    select r.oid::int8 as oid, r.rolname::text as name,
      pg_catalog.pg_has_role(r.oid, 'MEMBER WITH ADMIN OPTION') as "isAdministered", coalesce((
      select jsonb_agg(jsonb_build_object('member', e.rolname, 'grantor', g.rolname, 'mayAct', ${mayAct})
        order by e.rolname, g.rolname)
      from pg_catalog.pg_auth_members m join pg_catalog.pg_roles e on e.oid = m.member
        and (not e.rolsuper or e.rolname = current_user)
      left join pg_catalog.pg_roles g on g.oid = m.grantor where m.roleid = r.oid), '[]') as members,
      exists (select from pg_catalog.pg_auth_members m join pg_catalog.pg_roles e on e.oid = m.member and ${isTrusted('e')}
        join pg_catalog.pg_roles g on g.oid = m.grantor and ${isTrusted('g')} where m.roleid = r.oid) as "isJoined",
      (select d.description from pg_catalog.pg_shdescription d where d.objoid = r.oid
        and d.classoid = 'pg_catalog.pg_authid'::regclass and pg_catalog.pg_column_size(d.description) <= ${longestMark}) as comment,
      case when r.rolname = any(${shared}::text[]) then array(
        select distinct o.rolname::text from pg_catalog.pg_shdepend d join pg_catalog.pg_rewrite w on w.ev_class = d.objid
        join pg_catalog.pg_depend s on s.classid = 'pg_catalog.pg_rewrite'::regclass and s.objid = w.oid
          and s.refclassid = 'pg_catalog.pg_class'::regclass and s.refobjid <> w.ev_class
        join pg_catalog.pg_class c on c.oid = s.refobjid join pg_catalog.pg_roles o on o.oid = c.relowner
        where d.refclassid = 'pg_catalog.pg_authid'::regclass and d.refobjid = r.oid
          and d.classid = 'pg_catalog.pg_class'::regclass and d.deptype = 'o'
          and d.dbid = (select oid from pg_catalog.pg_database where datname = current_database())) end as reads
    from pg_catalog.pg_roles r where pg_catalog.starts_with(r.rolname::text, ${twinOwnerPrefix}) order by r.oid`
}
