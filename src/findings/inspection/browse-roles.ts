import type { RoleSight, RolesPage, RolesWanted } from '../../contracts/inspection.ts'
import { loginMarkPrefix } from '../../db/login-mark.ts'
import type { Tx } from '../../db/transaction.ts'
import type { Exempt } from '../../masks/model.ts'
import { twinOwnerPrefix } from '../../masks/names.ts'
import type { Policy } from '../../masks/policy.ts'
import { findGuard } from '../../masks/read/guard.ts'
import { readExempt } from '../../masks/read/snapshot.ts'
import { isBrowsable, readsAll } from './ordinary-tables.ts'

/**
 * What roles see of a table by their privileges, the role of exactly this name first; null: there is no such table.
 * Login roles stand for principals of the directory, of whom there may be many, and are left out with the roles of the
 * system and those that own twins.
 */
export async function browseRoles(tx: Tx, policy: Policy, wanted: RolesWanted): Promise<RolesPage | null> {
  const relation = await findRelation(tx, wanted)
  if (!relation) return null
  const exempt = await readExempt(tx, policy, relation.version)
  const found = await readSights(tx, relation, wanted, exempt)
  const roles = found.slice(0, wanted.limit)
  return { roles, last: found.length > roles.length ? (roles.at(-1)?.role ?? null) : null }
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

/** One more than the page holds. */
async function readSights(
  tx: Tx,
  { oid, twin }: FoundRelation,
  { search, after, limit }: RolesWanted,
  { everybody, roles }: Exempt,
) {
  const readable = (relation: number | null) => tx`
    select a.attname from pg_catalog.pg_attribute a join pg_catalog.pg_class o on o.oid = a.attrelid
    where a.attrelid = ${relation}::int8::oid and a.attnum > 0 and not a.attisdropped
      and pg_catalog.has_schema_privilege(r.oid, o.relnamespace, 'USAGE')
      and pg_catalog.has_column_privilege(r.oid, a.attrelid, a.attnum, 'SELECT')`
  return await tx<RoleSight[]>`
    with chosen as materialized (
      select r.oid, r.rolname, r.rolcanlogin, r.rolsuper from pg_catalog.pg_roles r
      where r.rolname !~ '^pg_' and not (pg_catalog.starts_with(r.rolname, ${twinOwnerPrefix}) and not r.rolcanlogin)
        and pg_catalog.strpos(pg_catalog.lower(r.rolname), pg_catalog.lower(${search}::text)) > 0
        and not pg_catalog.starts_with(
          coalesce(pg_catalog.shobj_description(r.oid, 'pg_authid'), ''), ${loginMarkPrefix})
        and (${after}::text is null or (r.rolname > ${after}::text::name and r.rolname <> ${search}::text))
      order by r.rolname <> ${search}::text, r.rolname limit ${limit + 1})
    select r.rolname::text as role, r.rolcanlogin as "canLogIn",
      r.rolsuper or pg_catalog.pg_has_role(r.oid, c.relowner, 'USAGE') or ${readsAll(tx)}
        or ${everybody} or r.oid = any(${[...roles]}::int8[]::oid[]) as "keepsRaw",
      array(select x.attname::text from (${readable(oid)}) x) as "rawColumns",
      array(select x.attname::text from (${readable(twin)}) x
        where x.attname not in (${readable(oid)})) as "maskedColumns"
    from chosen r join pg_catalog.pg_class c on c.oid = ${oid}::int8::oid
    order by r.rolname <> ${search}::text, r.rolname`
}
