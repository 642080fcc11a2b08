import type { Sql } from '../../db/sql.ts'
import type { Intruder } from '../catalog.ts'
import { twinOwnerName } from '../names.ts'

/** The facts that decide under which name the role of the binding can have the owner of the twins. */
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
}

interface Candidate extends TwinOwner {
  /** The role of the binding may act as it, or give itself that right. */
  readonly isUsable: boolean
}

const names = 4

/**
 * Chooses the role that owns the twins. A role that may create roles can create one of that name first, and pass it on to
 * itself later. Superusers take such a role over, as do roles with CREATEROLE before PostgreSQL 16. Others leave it alone
 * and use another name, where they can create a role of it.
 */
export async function chooseTwinOwner(sql: Sql, facts: TwinOwnerFacts): Promise<TwinOwner> {
  const { version, database, superuser, createsRoles } = facts
  const isMaster = superuser || (createsRoles && version < 160000)
  for (let from = 0; ; from += names) {
    const wanted = Array.from({ length: isMaster ? 1 : names }, (_, at) => twinOwnerName(database, from + at))
    const found = await readCandidates(sql, facts, wanted)
    const [first] = wanted
    const base = { name: first ?? '', intruders: [] }
    if (isMaster) return found[0] ?? base
    const usable = found.filter(({ isUsable }) => isUsable)
    const ours = usable.find(({ intruders }) => intruders.every((one) => isRevocable(one, facts)))
    if (ours) return ours
    const free = wanted.find((name) => !found.some((one) => one.name === name))
    if (!createsRoles) return usable[0] ?? base
    if (free !== undefined) return { name: free, intruders: [] }
  }
}

/** The same outside of a turn, where nothing is known of the server yet. */
export async function findTwinOwner(sql: Sql): Promise<string> {
  const [facts] = await sql<TwinOwnerFacts[]>`
    select current_setting('server_version_num')::int as version, current_database()::text as database,
      rolname::text as "user", rolsuper as superuser, rolcreaterole as "createsRoles"
    from pg_catalog.pg_roles where rolname = current_user`
  if (!facts) throw new Error('the server did not answer')
  return (await chooseTwinOwner(sql, facts)).name
}

/** True when the role of the binding may revoke the membership. Since PostgreSQL 16 each one has its own grantor. */
export function isRevocable(
  { grantor }: Intruder,
  { version, user, superuser }: Pick<TwinOwnerFacts, 'version' | 'user' | 'superuser'>,
): boolean {
  return superuser || version < 160000 || grantor === user
}

async function readCandidates(
  sql: Sql,
  { version, user, superuser }: TwinOwnerFacts,
  wanted: readonly string[],
): Promise<Candidate[]> {
  const mayAct = version >= 160000 ? sql`m.inherit_option or m.set_option` : sql`true`
  const rows = await sql<{ name: string; members: Intruder[] }[]>`
    select r.rolname::text as name, coalesce((
      select jsonb_agg(jsonb_build_object('member', e.rolname, 'grantor', g.rolname, 'mayAct', ${mayAct})
        order by e.rolname, g.rolname)
      from pg_catalog.pg_auth_members m join pg_catalog.pg_roles e on e.oid = m.member
        and (not e.rolsuper or e.rolname = current_user)
      left join pg_catalog.pg_roles g on g.oid = m.grantor where m.roleid = r.oid), '[]') as members
    from pg_catalog.pg_roles r where r.rolname = any(${wanted}::text[]::name[])
    order by array_position(${wanted}::text[], r.rolname::text)`
  return rows.map(({ name, members }) => ({
    name,
    isUsable: superuser || members.some(({ member }) => member === user),
    intruders: members.filter(({ member }) => member !== user),
  }))
}
