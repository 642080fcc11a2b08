import { longestMark, markPrefix } from '../db/login-mark.ts'
import type { Fragment } from '../db/query.ts'
import type { Sql } from '../db/sql.ts'
import { guardSchema, shadowPrefix } from '../masks/names.ts'
import { readPlace } from '../masks/read/guard.ts'
import { listRecordedExempt } from './exempt/recorded-exempt.ts'
import { readMappedRoles, readOwned } from './mapped-roles.ts'
import { readMark } from './mark.ts'
import type {
  Facts,
  LoginSnapshot,
  LoginSource,
  LoginsOptions,
  ObservedLogin,
  ObservedRole,
  ReachedRole,
} from './model.ts'

/** A role can grant itself any number of things. */
const mostGranted = 1_000

type Options = Pick<LoginsOptions, 'source' | 'keys' | 'readExemptElsewhere'>

/** The login roles of one principal, with those that hold its name, or of all principals. */
export async function readSnapshot(
  { source, keys, readExemptElsewhere }: Options,
  sql: Sql,
  databaseId: string,
  principalId?: string,
): Promise<LoginSnapshot> {
  const asked = principalId === undefined ? [] : [principalId]
  const [facts, exemptElsewhere, own] = await Promise.all([
    readFacts(sql),
    readPlace(sql).then((place) => readExemptElsewhere(place, databaseId)),
    asked.length === 0 ? undefined : source.readLogins(databaseId, asked),
  ])
  const roleOf = ({ name }: { readonly name: string }) => keys.roleName(name, facts.database)
  const isBound = async (id: string) => (await source.find(id)) !== null
  const names = (own?.rights ?? []).map(roleOf)
  const { logins, taken } = await findLogins(sql, databaseId, principalId, names, keys, isBound)
  const principals = [...new Set([...asked, ...logins.map(({ mark }) => mark.principalId)])]
  const found = { ...facts, logins }
  if (principals.length === 0) return { ...found, ...nothingElse }
  const { rights, tables } =
    own && principals.length === 1 ? own : await source.readLogins(databaseId, principals)
  const mapped = await readMappedRoles(
    sql,
    [...new Set(rights.flatMap(({ roles }) => roles))],
    tables,
    exemptElsewhere,
  )
  const wanted = rights.map(({ roles, ...one }) => ({
    principalId: one.principalId,
    role: roleOf(one),
    memberOf: roles,
  }))
  // Names that were asked for have been looked at together with the marks: a role that came since is none without one.
  const known = new Set([...names, ...logins.map(({ name }) => name)])
  const others = wanted.map(({ role }) => role).filter((role) => !known.has(role))
  return {
    ...found,
    taken: new Set([...taken, ...(await findNames(sql, others))]),
    rights: wanted,
    mapped,
    owned: await readOwnMasked(sql, () => source.readPolicy(databaseId), logins, wanted, mapped),
    granted: principalId === undefined ? await readGranted(sql, logins) : nothingElse.granted,
  }
}

const nothingElse: Pick<LoginSnapshot, 'taken' | 'rights' | 'mapped' | 'owned' | 'granted'> = {
  taken: new Set(),
  rights: [],
  mapped: new Map(),
  owned: new Map(),
  granted: new Map(),
}

async function readFacts(sql: Sql): Promise<Facts> {
  const [facts] = await sql<Facts[]>`
    select current_setting('server_version_num')::int as version, current_database()::text as database,
      current_user::text as "user", rolsuper or rolcreaterole as "createsRoles",
      (now() + interval '15 minutes')::text as until
    from pg_catalog.pg_roles where rolname = current_user`
  if (!facts) throw new Error('the server did not answer')
  return facts
}

const isMarked = (
  sql: Sql,
  prefix: string,
) => sql`case when pg_catalog.pg_column_size(d.description) <= ${longestMark}
  then starts_with(d.description, ${prefix}) end`

/** The database has login roles. */
export async function hasLogins(sql: Sql, databaseId: string): Promise<boolean> {
  const rows = await sql`
    select from pg_catalog.pg_shdescription d where d.classoid = 'pg_catalog.pg_authid'::pg_catalog.regclass
      and ${isMarked(sql, markPrefix(databaseId))} limit 1`
  return rows.length > 0
}

/** The login roles of a database, or of one principal there, and what else has one of the names. */
async function findLogins(
  sql: Sql,
  databaseId: string,
  principalId: string | undefined,
  names: readonly string[],
  keys: Options['keys'],
  isBound: (databaseId: string) => Promise<boolean>,
): Promise<Pick<LoginSnapshot, 'logins' | 'taken'>> {
  const marked = isMarked(sql, markPrefix(databaseId, principalId))
  const rows = await readRoles(sql, sql`${marked} or r.rolname = any(${names}::text[]::name[])`)
  const logins: ObservedLogin[] = []
  for (const { comment, ...role } of rows) {
    const mark = readMark(comment, role.oid, keys)
    if (mark?.databaseId === databaseId) logins.push({ ...role, mark, isAdopted: mark.isOld ?? false })
    else if (mark && !(await isBound(mark.databaseId)))
      logins.push({ ...role, mark: { ...mark, databaseId }, isAdopted: true })
  }
  const ours = new Set(logins.map(({ name }) => name))
  return { logins, taken: new Set(rows.map(({ name }) => name).filter((name) => !ours.has(name))) }
}

/** A role as it is now, in the transaction that changes it. */
export async function readRole(sql: Sql, oid: number): Promise<ObservedRole | undefined> {
  return (await readRoles(sql, sql`r.oid = ${oid}::int8::oid`))[0]
}

/** The same text for every version of the server: columns that came with 16 are read from the row as JSON. */
async function readRoles(sql: Sql, which: Fragment): Promise<(ObservedRole & { comment: string | null })[]> {
  const has = (option: string) => sql`coalesce((to_jsonb(m) ->> ${option})::boolean, true)`
  const grantor = sql`case when to_jsonb(m) ? 'set_option' then g.rolname end`
  const isPlain = sql`not m.admin_option and ${has('inherit_option')} and ${has('set_option')}`
  // Since 16 who creates a role may pass it on, and gets no right of it.
  const isCreator = sql`not ${has('inherit_option')} and not ${has('set_option')}`
  return await sql<(ObservedRole & { comment: string | null })[]>`
    select r.oid::int8 as oid, r.rolname::text as name, r.rolcanlogin as "canLogin",
      case when pg_catalog.pg_column_size(d.description) <= ${longestMark} then d.description end as comment,
      array_remove(array[case when r.rolsuper then 'NOSUPERUSER' end, case when r.rolbypassrls then 'NOBYPASSRLS' end,
        case when r.rolcreaterole then 'NOCREATEROLE' end, case when r.rolcreatedb then 'NOCREATEDB' end,
        case when r.rolreplication then 'NOREPLICATION' end,
        case when not r.rolinherit then 'INHERIT' end], null) as excess,
      coalesce(r.rolvaliduntil between now() + interval '5 minutes' and now() + interval '1 hour', false) as "isFresh",
      coalesce((select jsonb_agg(
          jsonb_build_object('role', o.rolname, 'grantor', ${grantor}, 'isPlain', ${isPlain})
          order by o.rolname, g.rolname)
        from pg_catalog.pg_auth_members m join pg_catalog.pg_roles o on o.oid = m.roleid
        left join pg_catalog.pg_roles g on g.oid = m.grantor where m.member = r.oid), '[]') as memberships,
      coalesce((select jsonb_agg(jsonb_build_object('member', o.rolname, 'grantor', ${grantor})
          order by o.rolname, g.rolname)
        from pg_catalog.pg_auth_members m join pg_catalog.pg_roles o on o.oid = m.member
        left join pg_catalog.pg_roles g on g.oid = m.grantor
        where m.roleid = r.oid and not (o.rolname = current_user and ${isCreator})), '[]') as intruders,
      exists (select from pg_catalog.pg_shdepend w join pg_catalog.pg_database b on b.oid = w.dbid
        where b.datname = pg_catalog.current_database() and w.deptype = 'o' and w.refobjid = r.oid
          and w.refclassid = 'pg_catalog.pg_authid'::pg_catalog.regclass
          and w.classid = 'pg_catalog.pg_class'::pg_catalog.regclass) as "ownsRelations"
    from pg_catalog.pg_roles r left join pg_catalog.pg_shdescription d
      on d.objoid = r.oid and d.classoid = 'pg_catalog.pg_authid'::pg_catalog.regclass
    where ${which} order by 2`
}

/** Those of the names that roles have. */
async function findNames(sql: Sql, names: readonly string[]): Promise<string[]> {
  if (names.length === 0) return []
  const rows = await sql<{ name: string }[]>`
    select rolname::text as name from pg_catalog.pg_roles where rolname = any(${names}::text[]::name[])`
  return rows.map(({ name }) => name)
}

/** Principals that are exempt, themselves or by a mapped role in the records of the last turn, may see the values. */
async function readOwnMasked(
  sql: Sql,
  readPolicy: () => ReturnType<LoginSource['readPolicy']>,
  logins: readonly ObservedLogin[],
  rights: LoginSnapshot['rights'],
  mapped: ReadonlyMap<string, readonly ReachedRole[]>,
): Promise<ReadonlyMap<number, readonly string[]>> {
  const rolesOf = new Map(rights.map(({ principalId, memberOf }) => [principalId, memberOf]))
  const owners = logins.filter(({ mark, ownsRelations }) => ownsRelations && rolesOf.has(mark.principalId))
  if (owners.length === 0) return new Map()
  const { rules, exemptPrincipals } = await readPolicy()
  const owned = await readOwned(
    sql,
    owners.map(({ oid }) => oid),
    rules,
  )
  if (owned.size === 0) return owned
  const oids = [...mapped.values()].flatMap(([role]) => role?.oid ?? [])
  const exempt = new Set(await listRecordedExempt(sql, oids))
  const isExempt = ({ mark: { principalId } }: ObservedLogin) =>
    exemptPrincipals.includes(principalId) ||
    rolesOf.get(principalId)?.some((role) => exempt.has(mapped.get(role)?.[0]?.oid ?? 0))
  for (const login of owners) if (isExempt(login)) owned.delete(login.oid)
  return owned
}

/** The controller itself grants to exempt roles, and to owners of views in the schemas of twins. */
async function readGranted(sql: Sql, logins: readonly ObservedLogin[]): Promise<Map<number, string[]>> {
  const rows = await sql<{ oid: number; object: string }[]>`
    select d.refobjid::int8 as oid, o.type || ' ' || o.identity as object from (
      select d.* from pg_catalog.pg_shdepend d join pg_catalog.pg_database b on b.oid = d.dbid
      where b.datname = pg_catalog.current_database() and d.deptype = 'a'
        and d.refclassid = 'pg_catalog.pg_authid'::pg_catalog.regclass
        and d.refobjid = any(${logins.map(({ oid }) => oid)}::int8[]::oid[]) limit ${mostGranted}
    ) d, lateral pg_catalog.pg_identify_object(d.classid, d.objid, d.objsubid) o
    where case o.type when 'schema' then o.name else coalesce(o.schema, '') end
      !~ ${`^(pg_temp|${shadowPrefix}|${guardSchema})`} order by 2`
  if (rows.length === 0) return new Map()
  const exempt = new Set(await listRecordedExempt(sql, [...new Set(rows.map(({ oid }) => oid))]))
  const own = Map.groupBy(
    rows.filter(({ oid }) => !exempt.has(oid)),
    ({ oid }) => oid,
  )
  return new Map([...own].map(([oid, found]) => [oid, found.map(({ object }) => object)]))
}
