import type { Database } from '../../db/database.ts'
import { loginMarkPrefix } from '../../db/login-mark.ts'
import type { Sql } from '../../db/sql.ts'
import type { Tx } from '../../db/transaction.ts'
import { exemptions } from '../grants/roles.ts'
import { findGuard } from '../guard/find-guard.ts'
import { isTwinOwnerName } from '../names.ts'
import { readRoles } from '../observe.ts'
import type { Policy } from '../policy.ts'
import { prepare } from '../recommendations/recommend.ts'
import { isBrowsable } from './browse.ts'

export interface RoleSight {
  readonly role: string
  readonly canLogIn: boolean
  /** No mask changes what it sees: it is exempt, a superuser, owns the table or reads all data. */
  readonly keepsRaw: boolean
  /** Those that it reads in the table itself. */
  readonly rawColumns: readonly string[]
  /** Those that it reads in the twin alone. */
  readonly maskedColumns: readonly string[]
}

export interface RolesWanted {
  readonly schema: string
  readonly table: string
  /** A part of the role's name, in any case. */
  readonly search: string
  /** The last role of the page before. */
  readonly after: string | null
  readonly limit: number
}

export interface RolesPage {
  readonly roles: readonly RoleSight[]
  /** The role that the next page goes on behind; null: no more follow. */
  readonly last: string | null
}

/**
 * What roles see of a table by their privileges, the role of exactly this name first; null: there is no such table. Login roles
 * stand for principals of the directory, of whom there may be many, and are left out with the roles of the system and those
 * that own twins.
 */
export async function browseRoles(
  database: Database,
  readPolicy: (sql: Sql) => Promise<Pick<Policy, 'exemptRoles'>>,
  wanted: RolesWanted,
): Promise<RolesPage | null> {
  const { exemptRoles } = await readPolicy(database.sql)
  return database.transaction(async (tx) => {
    await prepare(tx)
    const relation = await findRelation(tx, wanted)
    if (!relation) return null
    const exempt = exemptions(await readRoles(tx, relation.version), exemptRoles)
    const found = await readSights(tx, relation, wanted)
    const others = found.filter((sight) => !isOfService(sight))
    const page = others.slice(0, wanted.limit)
    const isCut = found.length === wanted.limit + spare
    const last = others.length > page.length ? page.at(-1) : isCut ? found.at(-1) : undefined
    const roles = page.map(({ isMighty, ownsTwin: _, ...sight }) => ({
      ...sight,
      keepsRaw: isMighty || exempt.includes(sight.role),
    }))
    return { roles, last: last?.role ?? null }
  })
}

interface FoundRelation {
  readonly oid: number
  readonly twin: number | null
  readonly version: number
}

async function findRelation(tx: Tx, { schema, table }: RolesWanted): Promise<FoundRelation | undefined> {
  const guard = await findGuard(tx)
  const twin =
    guard === null
      ? tx`null`
      : tx`(select pg_catalog.to_regclass(pg_catalog.format('%I.%I', g.twin->>'schema', g.twin->>'name'))
          from ${tx(guard)}.relation g where g.oid = c.oid and g.twin is not null)`
  const [found] = await tx<FoundRelation[]>`
    select c.oid::int8 as oid, (${twin})::oid::int8 as twin,
      pg_catalog.current_setting('server_version_num')::int as version
    from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
    where ${isBrowsable(tx)} and n.nspname = ${schema}::text::name and c.relname = ${table}::text::name`
  return found
}

interface FoundSight extends Omit<RoleSight, 'keepsRaw'> {
  readonly isMighty: boolean
  readonly ownsTwin: boolean
}

/**
 * Any role that may create roles can give one the name of an owner of twins. So the name counts only for a role that owns the
 * twin of this table, or sees nothing of it, as those of other tables and databases.
 */
function isOfService({ role, canLogIn, isMighty, ownsTwin, rawColumns, maskedColumns }: FoundSight): boolean {
  const seesNothing = !isMighty && rawColumns.length === 0 && maskedColumns.length === 0
  return isTwinOwnerName(role) && !canLogIn && (ownsTwin || seesNothing)
}

/** Twin owners are taken off the list afterwards: there are few. */
const spare = 50

async function readSights(
  tx: Tx,
  { oid, twin, version }: FoundRelation,
  { search, after, limit }: RolesWanted,
) {
  const readsAll =
    version >= 140000 ? tx`or pg_catalog.pg_has_role(r.oid, 'pg_read_all_data', 'USAGE')` : tx``
  const readable = (relation: number | null) => tx`
    select a.attname from pg_catalog.pg_attribute a join pg_catalog.pg_class o on o.oid = a.attrelid
    where a.attrelid = ${relation}::int8::oid and a.attnum > 0 and not a.attisdropped
      and pg_catalog.has_schema_privilege(r.oid, o.relnamespace, 'USAGE')
      and pg_catalog.has_column_privilege(r.oid, a.attrelid, a.attnum, 'SELECT')`
  return await tx<FoundSight[]>`
    with chosen as materialized (
      select r.oid, r.rolname, r.rolcanlogin, r.rolsuper from pg_catalog.pg_roles r
      where r.rolname !~ '^pg_' and pg_catalog.strpos(pg_catalog.lower(r.rolname), pg_catalog.lower(${search}::text)) > 0
        and not pg_catalog.starts_with(
          coalesce(pg_catalog.shobj_description(r.oid, 'pg_authid'), ''), ${loginMarkPrefix})
        and (${after}::text is null or (r.rolname > ${after}::text::name and r.rolname <> ${search}::text))
      order by r.rolname <> ${search}::text, r.rolname limit ${limit + spare})
    select r.rolname::text as role, r.rolcanlogin as "canLogIn",
      r.rolsuper or pg_catalog.pg_has_role(r.oid, c.relowner, 'USAGE') ${readsAll} as "isMighty",
      r.oid = coalesce((select t.relowner from pg_catalog.pg_class t where t.oid = ${twin}::int8::oid), 0) as "ownsTwin",
      array(select x.attname::text from (${readable(oid)}) x) as "rawColumns",
      array(select x.attname::text from (${readable(twin)}) x
        where x.attname not in (${readable(oid)})) as "maskedColumns"
    from chosen r join pg_catalog.pg_class c on c.oid = ${oid}::int8::oid
    order by r.rolname <> ${search}::text, r.rolname`
}
