import type { Tx } from '../../db/transaction.ts'
import type { Column, Relation } from '../catalog.ts'
import { candidatesFor, writeConstant } from './masks.ts'

/**
 * Finds for each domain with checks a constant that it accepts, by trying. Checks that call anything but immutable
 * built-ins are never run: they would run another role's code with our privileges.
 */
export async function findLegal(tx: Tx, relations: readonly Relation[]): Promise<Relation[]> {
  const columns = relations.flatMap((relation) => relation.columns)
  const domains = [...new Set(columns.flatMap(({ checkedDomain }) => checkedDomain ?? []))]
  if (domains.length === 0) return [...relations]
  const harmless = await findHarmless(tx, domains)
  const known = new Map<string, string | null>()
  const legalFor = async (column: Column) => {
    if (column.checkedDomain === null || !harmless.has(column.checkedDomain)) return null
    const key = `${column.checkedDomain} ${column.baseType}`
    const found = known.get(key)
    if (found !== undefined) return found
    const legal = await askDomain(tx, column)
    known.set(key, legal)
    return legal
  }
  const found: Relation[] = []
  for (const relation of relations) {
    const own: Column[] = []
    for (const column of relation.columns)
      own.push(column.checkedDomain === null ? column : { ...column, legal: await legalFor(column) })
    found.push({ ...relation, columns: own })
  }
  return found
}

async function askDomain(tx: Tx, column: Column): Promise<string | null> {
  for (const candidate of candidatesFor(column)) {
    const accepted = tx.savepoint(() =>
      tx.unsafe(`select (${writeConstant(column, candidate)})::${column.type}`),
    )
    if (
      await accepted.then(
        () => true,
        () => false,
      )
    )
      return candidate
  }
  return null
}

/** A check names its functions and operators in its stored tree; what is not built in is also among its dependencies. */
async function findHarmless(tx: Tx, domains: readonly number[]): Promise<Set<number>> {
  const rows = await tx<{ oid: number }[]>`
    with recursive chain as (
      select oid as domain, oid, typbasetype from pg_catalog.pg_type where oid = any(${domains}::oid[])
      union all
      select chain.domain, t.oid, t.typbasetype from chain join pg_catalog.pg_type t on t.oid = chain.typbasetype
    )
    select domain::int8 as oid from chain
    left join pg_catalog.pg_constraint c on c.contypid = chain.oid and c.contype = 'c'
    group by domain
    having bool_and(c.oid is null or (
      not exists (select 1 from pg_catalog.pg_depend d where d.classid = 'pg_catalog.pg_constraint'::regclass and d.objid = c.oid
        and not (d.refclassid = 'pg_catalog.pg_type'::regclass and d.refobjid = c.contypid))
      and not exists (
        select 1 from regexp_matches(c.conbin::text, ':(funcid|opfuncid|opno) ([1-9][0-9]*)', 'g') used(part)
        left join pg_catalog.pg_operator o on part[1] = 'opno' and o.oid = part[2]::oid
        left join pg_catalog.pg_proc p on p.oid = coalesce(o.oprcode::oid, case when part[1] <> 'opno' then part[2]::oid end)
        where p.oid is null or p.provolatile <> 'i' or p.pronamespace <> 'pg_catalog'::regnamespace)))`
  return new Set(rows.map(({ oid }) => oid))
}
