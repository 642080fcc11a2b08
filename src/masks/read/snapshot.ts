import type { Query, Row, Sql } from '../../db/sql.ts'
import type { Exempt, Header, Oid, Schema, Snapshot } from '../model.ts'
import { shadowName, shadowPrefix, twinOwnerName } from '../names.ts'
import type { Policy, Target } from '../policy.ts'
import { readRecords, readTwinOwners } from './guard.ts'
import { findRelations, readRelations } from './relations.ts'
import type { Start } from './start.ts'

/**
 * All that a turn knows about the database, in three round trips. No definition of a view is printed: PostgreSQL
 * locks every relation of a view for that (`definitions.ts`). `focus`: the tables to look at; undefined: everything.
 * /
 */
export async function readSnapshot(
  sql: Sql,
  { server, guard, isWatched }: Start,
  header: Header | null,
  exempt: Exempt,
  policy: Policy,
  focus: readonly Target[] | undefined,
): Promise<Snapshot> {
  const isWhole = focus === undefined
  const known = guard.isThere ? guard.schema : null
  const exemptRoles = [...exempt.roles]
  const oids = await findRelations(sql, focus ?? policy.rules, known, isWhole, exemptRoles)
  const [all, stored, twinOwners, schemas, exemptMembers, defaults] = await Promise.all([
    readRelations(sql, oids, server.version, known === null ? null : { guard: known, isWhole }),
    known === null ? [] : readRecords(sql, known, isWhole ? null : oids),
    known === null ? [] : readTwinOwners(sql, known),
    readSchemas(sql, known, oids, isWhole),
    readExemptMembers(sql, exemptRoles),
    readDefaults(sql),
  ])
  const roles = await readRoleFacts(sql, server.database, [
    ...[...all.values()].flatMap(({ owner, acl }) => [owner, ...acl.map(({ grantee }) => grantee)]),
    ...stored.flatMap(({ before }) => before.map(({ grantee }) => grantee)),
    ...[...schemas.values()].flatMap(({ users, shadow }) => [
      ...users,
      ...(shadow?.users ?? []),
      ...(shadow?.excess ?? []),
    ]),
    ...exemptRoles,
    ...[...defaults.values()].flatMap((one) => [...one.relations, ...one.schemas]),
  ])
  const records = stored.map((one) => ({ ...one, made: all.get(one.twin ?? 0) ?? null }))
  for (const { twin } of stored) all.delete(twin ?? 0)
  return {
    ...{ server, guard, header, isWatched, isWhole, relations: all, schemas, twinOwners },
    ...{ exempt, exemptMembers, defaults, ...roles },
    records: new Map(records.map((one) => [one.oid, one])),
  }
}

/**
 * Members of an exempt role are exempt. An entry counts for the role that it was judged by, not for a later one of
 * its name.
 */
export async function readExempt(
  sql: Sql,
  { exemptRoles, judgedRoles }: Policy,
  version: number,
): Promise<Exempt> {
  if (exemptRoles.length === 0) return { everybody: false, roles: new Set(), named: new Set(), unknown: [] }
  // An entry that was judged to be no role exempts none that takes the name: no role has the OID 0.
  const judged = exemptRoles.map((name) => (judgedRoles?.has(name) ? (judgedRoles.get(name) ?? 0) : null))
  // Since 16, a member with ADMIN alone may neither inherit nor take on the role, but grant it to itself.
  const isMember = version >= 160000 ? sql`(m.inherit_option or m.set_option)` : sql`true`
  const rows = await sql<{ oid: Oid | null; isNamed: boolean; entry: string | null }[]>`
      with recursive entry as (
        select e.name, r.oid from unnest(${[...exemptRoles]}::text[], ${judged}::int8[]) e(name, judged)
        left join pg_catalog.pg_roles r on r.rolname = e.name and (e.judged is null or e.judged = r.oid)
      ), exempt as (
        select oid, true as named from entry where oid is not null
        union select m.member, false from exempt
        join pg_catalog.pg_auth_members m on m.roleid = exempt.oid and ${isMember}
      )
      select oid::int8 as oid, bool_or(named) as "isNamed", null as entry from exempt group by 1
      union all select null, false, e.name from entry e where e.oid is null`
  const unknown = rows.flatMap(({ entry }) => entry ?? [])
  // No role can be called "public", but one can be called "PUBLIC".
  const isEverybody = (name: string) => name.toLowerCase() === 'public'
  const roles = new Set(rows.flatMap(({ oid }) => oid ?? []))
  return {
    everybody: unknown.some(isEverybody),
    roles,
    named: new Set(rows.flatMap(({ oid, isNamed }) => (oid !== null && isNamed ? [oid] : []))),
    unknown: unknown.filter((name) => !isEverybody(name)),
  }
}

export const listExemptNames = ({ exempt, roleNames }: Snapshot): string[] =>
  [...exempt.roles].flatMap((oid) => roleNames.get(oid) ?? [])

/** Every role that an exempt one is a member of, at any depth, with these exempt ones. */
async function readExemptMembers(sql: Sql, exempt: readonly Oid[]): Promise<Snapshot['exemptMembers']> {
  if (exempt.length === 0) return new Map()
  const rows = await sql<{ role: Oid; members: Oid[] }[]>`
    with recursive up as (
      select m.roleid as role, m.member from pg_catalog.pg_auth_members m where m.member = any(${[...exempt]}::oid[])
      union select m.roleid, up.member from up join pg_catalog.pg_auth_members m on m.member = up.role
    ) select role::int8 as role, array_agg(member::int8 order by member) as members from up group by 1`
  return new Map(rows.map(({ role, members }) => [role, members]))
}

/** The roles that may use the schemas of these relations, and those that may use the schemas of their twins. */
async function readSchemas(
  sql: Sql,
  guard: string | null,
  oids: readonly Oid[],
  isWhole: boolean,
): Promise<Map<string, Schema>> {
  const [recorded, ours] =
    guard === null
      ? [sql`select null::oid as source, null::oid as shadow where false`, sql`select null::oid where false`]
      : [sql`select source, shadow from ${sql(guard)}.shadow`, sql`select role from ${sql(guard)}.twin_owner`]
  const users = (alias: Query<Row[]>) => sql`array(select a.grantee::int8
    from pg_catalog.aclexplode(coalesce(${alias}.nspacl, pg_catalog.acldefault('n', ${alias}.nspowner))) a
    where a.privilege_type = 'USAGE' order by 1)`
  const rows = await sql<(Schema & { twins: string | null; taken: string[] })[]>`
    select n.nspname::text as name, ${users(sql`n`)} as users, s.nspname::text as twins,
      case when s.oid is not null then json_build_object('users', ${users(sql`s`)}, 'excess',
        array(select distinct a.grantee::int8
          from pg_catalog.aclexplode(s.nspacl) a left join pg_catalog.pg_roles g on g.oid = a.grantee
          where (a.privilege_type = 'CREATE' or a.is_grantable) and a.grantee <> s.nspowner
            and g.rolsuper is not true and a.grantee not in (${ours}))) end as shadow,
      -- Any role that may create schemas can take such a name first.
      array(select nspname::text from pg_catalog.pg_namespace
        where pg_catalog.starts_with(nspname::text, ${shadowPrefix})) as taken
    from pg_catalog.pg_namespace n left join (${recorded}) r on r.source = n.oid
    left join pg_catalog.pg_namespace s on s.oid = r.shadow
    where n.oid in (select c.relnamespace from pg_catalog.pg_class c where c.oid = any(${[...oids]}::oid[]))
      or ${isWhole} and s.oid is not null
    order by n.oid`
  const taken = new Set(rows[0]?.taken)
  return new Map(
    rows.map(({ name, users: own, shadow, ...row }) => {
      // Two schemas may not have one name for their twins, as that of one may be the hash of another.
      const twins = row.twins ?? shadowName(name, (one) => taken.has(one))
      taken.add(twins)
      return [name, { name, users: own, twins, shadow }]
    }),
  )
}

async function readDefaults(sql: Sql): Promise<Snapshot['defaults']> {
  const rows = await sql<{ role: Oid; relations: Oid[]; schemas: Oid[] }[]>`
    select d.defaclrole::int8 as role,
      coalesce(array_agg(distinct a.grantee::int8) filter (where d.defaclobjtype = 'r'), '{}') as relations,
      coalesce(array_agg(distinct a.grantee::int8) filter (where d.defaclobjtype = 'n'), '{}') as schemas
    from pg_catalog.pg_default_acl d, pg_catalog.aclexplode(d.defaclacl) a
    where d.defaclobjtype in ('r', 'n') and a.grantee <> d.defaclrole group by 1`
  return new Map(rows.map(({ role, ...given }) => [role, given]))
}

/** Names of these roles, and of all that are named as owners of twins are. */
async function readRoleFacts(
  sql: Sql,
  database: Oid,
  oids: readonly Oid[],
): Promise<Pick<Snapshot, 'roleNames' | 'superusers'>> {
  const rows = await sql<{ oid: Oid; name: string; isSuperuser: boolean }[]>`
    select oid::int8 as oid, rolname::text as name, rolsuper as "isSuperuser" from pg_catalog.pg_roles
    where oid = any(${[...new Set(oids)]}::oid[])
      or pg_catalog.starts_with(rolname::text, ${twinOwnerName(database, '')})`
  return {
    roleNames: new Map(rows.map(({ oid, name }) => [oid, name])),
    superusers: new Set(rows.filter(({ isSuperuser }) => isSuperuser).map(({ oid }) => oid)),
  }
}
