import type { MaskFacts } from '../../contracts/verdict.ts'
import { loginMarkPrefix, markPrefix } from '../../db/login-mark.ts'
import type { Sql } from '../../db/sql.ts'
import type { Policy } from '../../masks/policy.ts'
import { findGuard } from '../../masks/read/guard.ts'
import { readExempt } from '../../masks/read/snapshot.ts'

/**
 * What a policy is about in a database. `isStored`: what is masked now counts, too. Login roles of other databases are
 * not exempt as members: their people have no rights here.
 */
export async function readMaskFacts(
  sql: Sql,
  databaseId: string,
  policy: Policy,
  isStored: boolean,
): Promise<MaskFacts> {
  const guard = await findGuard(sql)
  const tables = [policy.rules.map(({ schema }) => schema), policy.rules.map(({ table }) => table)]
  // Twins of views belong to the owners of these, which are any roles.
  const recorded = guard
    ? sql`
      select c.oid, t.relowner from ${sql(guard)}.relation g join pg_catalog.pg_class c on c.oid = g.oid
      left join pg_catalog.pg_namespace s on s.nspname = g.twin ->> 'schema'
      left join pg_catalog.pg_class t on t.relnamespace = s.oid and t.relname = g.twin ->> 'name'
      where c.relkind in ('r', 'p', 'f')`
    : sql`select null::oid, null::oid where false`
  const [row] = await sql<
    (Omit<MaskFacts, 'exempt' | 'isProposed'> & { version: number; others: number[]; all: number[] })[]
  >`
    with recorded (oid, owner) as (${recorded}), named as (
      select c.oid from unnest(${tables[0]}::text[], ${tables[1]}::text[]) as t(s, r)
      join pg_catalog.pg_namespace n on n.nspname = t.s
      join pg_catalog.pg_class c on c.relnamespace = n.oid and c.relname = t.r
      union select oid from recorded where ${isStored && policy.rules.length > 0}
    ), login as (
      select objoid, pg_catalog.starts_with(description, ${markPrefix(databaseId)}) as is_own
      from pg_catalog.pg_shdescription where classoid = 'pg_catalog.pg_authid'::regclass
        and pg_catalog.starts_with(description, ${loginMarkPrefix})
    )
    select coalesce((select jsonb_agg(oid::int8) from named), '[]') as relations, r.oid::int8 as self,
      coalesce((select jsonb_agg(distinct owner::int8) from recorded where owner is not null), '[]') as "twinOwners",
      coalesce((select jsonb_agg(objoid::int8) from login), '[]') as logins,
      coalesce((select jsonb_agg(objoid::int8) from login where not is_own), '[]') as others,
      array(select oid::int8 from pg_catalog.pg_roles) as all, current_setting('server_version_num')::int as version
    from pg_catalog.pg_roles r where r.rolname = current_user`
  if (!row) throw new Error('the role of the binding is gone')
  const { version, others, all, ...facts } = row
  const { everybody, roles } = await readExempt(sql, policy, version)
  const exempt = (everybody ? all : [...roles]).filter((oid) => !others.includes(oid))
  return { ...facts, exempt, isProposed: !isStored }
}
