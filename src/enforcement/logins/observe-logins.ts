import { longestMark } from '../../db/login-mark.ts'
import type { Query, Row, Sql } from '../../db/sql.ts'
import { type Mark, markPrefix, readMark, type Sign, type SignOtherwise } from './mark.ts'

export interface Membership {
  readonly role: string
  /** Null before PostgreSQL 16: there a membership has one grantor, and every role that may grant it may revoke it. */
  readonly grantor: string | null
  /** As we give it: it inherits, can be taken on, and cannot be passed on. */
  readonly isPlain: boolean
}

/** A role that can act as the login role, or let others do so. */
export interface Intruder {
  readonly member: string
  readonly grantor: string | null
}

export interface ObservedRole {
  readonly oid: number
  readonly name: string
  readonly canLogin: boolean
  /** Words of ALTER ROLE that reduce it to the attributes of a login role. */
  readonly excess: readonly string[]
  /** Its password counts for some minutes more. */
  readonly isFresh: boolean
  readonly memberships: readonly Membership[]
  readonly intruders: readonly Intruder[]
  /** It owns tables, or the like, here. */
  readonly ownsRelations: boolean
  /** An access list of this database has it. */
  readonly isGranted: boolean
}

/** A login role of this database, made by us. */
export interface ObservedLogin extends ObservedRole {
  readonly mark: Mark
  /** The transaction that wrote the mark: each loss is another one. */
  readonly written: string
  /** Its mark is to be written anew: it was made for a database that is not bound any more, or signed with an older key. */
  readonly isAdopted: boolean
}

export interface Facts {
  readonly version: number
  readonly database: string
  readonly user: string
  /** The role of the binding may make roles. */
  readonly createsRoles: boolean
  /** When a password that is set now ends to count. */
  readonly until: string
}

export interface LoginSnapshot extends Facts {
  readonly logins: readonly ObservedLogin[]
  /** Those of the names that roles have which are not in the list. */
  readonly taken: ReadonlySet<string>
  /** The binding lists several servers. */
  readonly hasOthers: boolean
}

export async function readFacts(sql: Sql): Promise<Facts> {
  const [facts] = await sql<Facts[]>`
    select current_setting('server_version_num')::int as version, current_database()::text as database,
      current_user::text as "user", rolsuper or rolcreaterole as "createsRoles",
      (now() + interval '15 minutes')::text as until
    from pg_catalog.pg_roles where rolname = current_user`
  if (!facts) throw new Error('the server did not answer')
  return facts
}

/**
 * The login roles of a database, or of one principal there, and what else has one of the names. The same text for every
 * version of the server, so that it need not be known: columns that came with 16 are read from the row as JSON.
 */
export async function observeLogins(
  sql: Sql,
  databaseId: string,
  principalId: string | undefined,
  names: readonly string[],
  keys: { readonly sign: Sign; readonly signOtherwise?: SignOtherwise },
  isBound: (databaseId: string) => Promise<boolean>,
): Promise<Omit<LoginSnapshot, keyof Facts | 'hasOthers'>> {
  const has = (option: string) => sql`coalesce((to_jsonb(m) ->> ${option})::boolean, true)`
  const grantor = sql`case when to_jsonb(m) ? 'set_option' then g.rolname end`
  const isPlain = sql`not m.admin_option and ${has('inherit_option')} and ${has('set_option')}`
  // Since 16 who creates a role may pass it on, and gets no right of it.
  const isCreator = sql`not ${has('inherit_option')} and not ${has('set_option')}`
  const depends = (how: Query<Row[]>) => sql`exists (
    select from pg_catalog.pg_shdepend d join pg_catalog.pg_database b on b.datname = pg_catalog.current_database()
    where d.refclassid = 'pg_catalog.pg_authid'::pg_catalog.regclass and d.refobjid = r.oid and d.dbid in (0, b.oid) and ${how})`
  const isShort = sql`pg_catalog.pg_column_size(d.description) <= ${longestMark}`
  const rows = await sql<(ObservedRole & { comment: string | null; written: string })[]>`
    select r.oid::int8 as oid, r.rolname::text as name, case when ${isShort} then d.description end as comment, d.xmin::text as written, r.rolcanlogin as "canLogin",
      array_remove(array[case when r.rolsuper then 'NOSUPERUSER' end, case when r.rolbypassrls then 'NOBYPASSRLS' end,
        case when r.rolcreaterole then 'NOCREATEROLE' end, case when r.rolcreatedb then 'NOCREATEDB' end,
        case when r.rolreplication then 'NOREPLICATION' end, case when not r.rolinherit then 'INHERIT' end], null) as excess,
      coalesce(r.rolvaliduntil between now() + interval '5 minutes' and now() + interval '1 hour', false) as "isFresh",
      coalesce((select jsonb_agg(jsonb_build_object('role', o.rolname, 'grantor', ${grantor}, 'isPlain', ${isPlain})
          order by o.rolname, g.rolname)
        from pg_catalog.pg_auth_members m join pg_catalog.pg_roles o on o.oid = m.roleid
        left join pg_catalog.pg_roles g on g.oid = m.grantor where m.member = r.oid), '[]') as memberships,
      coalesce((select jsonb_agg(jsonb_build_object('member', o.rolname, 'grantor', ${grantor}) order by o.rolname, g.rolname)
        from pg_catalog.pg_auth_members m join pg_catalog.pg_roles o on o.oid = m.member
        left join pg_catalog.pg_roles g on g.oid = m.grantor
        where m.roleid = r.oid and not (o.rolname = current_user and ${isCreator})), '[]') as intruders,
      ${depends(sql`d.deptype = 'o' and d.classid = 'pg_catalog.pg_class'::pg_catalog.regclass`)} as "ownsRelations",
      ${depends(sql`d.deptype = 'a'`)} as "isGranted"
    from pg_catalog.pg_roles r left join pg_catalog.pg_shdescription d
      on d.objoid = r.oid and d.classoid = 'pg_catalog.pg_authid'::pg_catalog.regclass
    where case when ${isShort} then starts_with(d.description, ${markPrefix(databaseId, principalId)}) end or r.rolname = any(${names}::text[]::name[])
    order by 2`
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

/** Those of the names that roles have. */
export async function findNames(sql: Sql, names: readonly string[]): Promise<string[]> {
  if (names.length === 0) return []
  const rows = await sql<{ name: string }[]>`
    select rolname::text as name from pg_catalog.pg_roles where rolname = any(${names}::text[]::name[])`
  return rows.map(({ name }) => name)
}
