import type { Sql } from '../../db/sql.ts'
import { findGuard } from '../guard/find-guard.ts'
import type { Target } from '../policy.ts'
import { findRelations } from '../read-relations.ts'
import { chooseTwinOwner, readTwinOwnerFacts } from '../twins/choose-twin-owner.ts'
import { lookAtTwinRoles } from '../twins/recognise-twin-roles.ts'

/**
 * The masked tables that roles own, with partitions, children, parents and materialized views over them, by the role's
 * OID: owners see raw values. A plain view shows its owner no more than the owner may see without it.
 */
export async function findOwned(
  sql: Sql,
  owners: readonly number[],
  tables: readonly Target[],
): Promise<Map<number, string[]>> {
  const guard = await findGuard(sql)
  const facts = await readTwinOwnerFacts(sql)
  const { name: twinOwner } = chooseTwinOwner(facts, await lookAtTwinRoles(sql, facts))
  const { relations: found } = await findRelations(sql, tables, guard ?? [], 'all', twinOwner)
  const oids = found.map(({ oid }) => oid)
  // Views over twins are none of it.
  const isCopy = guard ? sql`exists (select 1 from ${sql(guard)}.relation g where g.oid = c.oid)` : sql`true`
  const rows = await sql<{ owner: number; name: string }[]>`
    select c.relowner::int8 as owner, format('%I.%I', n.nspname, c.relname) as name
    from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
    where c.oid = any(${oids}::int8[]::oid[]) and c.relowner = any(${owners}::int8[]::oid[])
      and (c.relkind in ('r', 'p', 'f') or c.relkind = 'm' and c.relispopulated and ${isCopy})
    order by 2`
  return new Map(
    owners.map((oid) => [oid, rows.filter(({ owner }) => owner === oid).map(({ name }) => name)]),
  )
}
