import type { Sql } from '../db/sql.ts'

interface Waiting {
  /**
   * Views that show no raw values once the tables are closed, because their owners see none: a view reads with the rights of
   * its owner. So do materialized views without data.
   */
  readonly deferred: ReadonlySet<number>
  /** These, and views and materialized views of roles that have rows of materialized views alone: they may show raw values. */
  readonly foreign: ReadonlySet<number>
}

export const noneWaiting: Waiting = { deferred: new Set(), foreign: new Set() }

/** A masked role can create thousands of views and materialized views, so everything else comes first. */
export async function readDeferred(
  tx: Sql,
  oids: readonly number[],
  exemptRoles: readonly string[],
): Promise<Waiting> {
  const rows = await tx<{ oid: number; mayWait: boolean }[]>`
    with found as materialized (
      select oid, relowner, relkind, relkind = 'v' or relkind = 'm' and not relispopulated as is_empty
      from pg_catalog.pg_class where oid = any(${oids}::oid[])
    ), trusted as materialized (
      select r.oid, false as by_copy from pg_catalog.pg_roles r where r.rolsuper or r.rolname in (current_user, 'pg_read_all_data')
        or r.rolname = any(${exemptRoles}::text[]) or r.oid in (select relowner from found where relkind not in ('v', 'm'))
      union all
      select relowner, true from found where relkind = 'm' and not is_empty
    ), owner as materialized (
      select o.oid, coalesce(bool_and(t.by_copy), true) as is_foreign, count(t.oid) = 0 as is_blind
      from (select distinct relowner as oid from found where relkind in ('v', 'm')) o
      left join (select distinct oid, by_copy from trusted) t on pg_catalog.pg_has_role(o.oid, t.oid, 'MEMBER') group by o.oid
    )
    select f.oid::int8 as oid, f.is_empty and o.is_blind as "mayWait" from found f join owner o on o.oid = f.relowner
    where f.relkind in ('v', 'm') and o.is_foreign
      and not 'public' = any(${exemptRoles.map((name) => name.toLowerCase())}::text[])`
  return {
    deferred: new Set(rows.filter(({ mayWait }) => mayWait).map(({ oid }) => oid)),
    foreign: new Set(rows.map(({ oid }) => oid)),
  }
}
