import { findMaskedGrantees, revokeFrom, writerEntries } from './acl-entries.ts'
import type { AclEntry, HiddenColumn, Scene } from './exposure.ts'

/** Something of a masked table that a role learns from by writing certain of its columns. */
export interface Written {
  readonly oid: number
  readonly kind: string
  readonly columns: readonly HiddenColumn[]
  /** Those to write. */
  readonly others: readonly HiddenColumn[]
  /** Rights on a table that it is part of do not count. */
  readonly isAlone?: boolean
}

export interface Writers {
  /** The masked roles that may write one of the columns. */
  readonly roles: readonly string[]
  /** The statements that revoke that. */
  readonly remedies: readonly string[]
}

/** A relation through which one of the written columns can be written. */
export interface Place {
  readonly at: number
  readonly via: number
  readonly isView: boolean
  /** The numbers of all of its columns. */
  readonly all: readonly number[]
  readonly name: string
  readonly owner: string
  readonly acl: readonly AclEntry[]
}

type Privilege = 'INSERT' | 'UPDATE' | 'DELETE'

/** Adds to each the roles that may write, in the table or through a table that it is part of or a view over either. */
export async function addWriters<T extends Written>(
  scene: Scene,
  written: readonly T[],
  privileges: readonly Privilege[],
): Promise<(T & Writers)[]> {
  if (written.length === 0) return []
  const places = Map.groupBy(await readPlaces(scene, written, privileges), ({ at }) => at)
  return written.map((one, at) => {
    const tableOwner = scene.byOid.get(one.oid)?.owner ?? ''
    const found = (places.get(at) ?? []).flatMap(({ name, owner, acl }) => {
      const granted = acl.filter(({ grantee }) => grantee !== owner)
      const grantees = findMaskedGrantees(scene, granted, tableOwner)
      return grantees ? [{ roles: grantees.roles, remedy: revokeFrom(grantees, name) }] : []
    })
    return {
      ...one,
      roles: [...new Set(found.flatMap(({ roles }) => roles))],
      remedies: found.map(({ remedy }) => remedy),
    }
  })
}

/**
 * The way up ends at a parent that has the same object itself: a partitioned table with an index is listed once. A view counts
 * while its owner may write below, and it reads one relation without aggregates; its columns count alike.
 */
export async function readPlaces(
  { sql }: Scene,
  written: readonly Written[],
  privileges: readonly Privilege[],
): Promise<Place[]> {
  if (written.length === 0) return []
  // DELETE is no privilege of a column.
  const mayWriteBelow = privileges.includes('DELETE')
    ? sql`pg_catalog.has_table_privilege(v.relowner, p.via, ${privileges.join(', ')})`
    : sql`pg_catalog.has_column_privilege(v.relowner, p.via, d.refobjsubid::int2, ${privileges.join(', ')})`
  const starts = written.map(({ oid, kind, columns, others, isAlone = false }, at) => ({
    at,
    oid,
    alone: isAlone,
    numbers: others.map(({ number }) => number),
    sameness: JSON.stringify([kind, ...columns.map(({ name }) => name).sort()]),
  }))
  return await sql<Place[]>`
    with recursive start as (
      select s.at, s.oid::oid as via, s.numbers, s.sameness, s.alone
      from jsonb_to_recordset(${sql.json(starts)}::jsonb) as s(at int4, oid int8, numbers int4[], sameness text, alone boolean)
    ), path as (
      select at, via, numbers, sameness, alone from start
      union
      select p.at, n.via, n.numbers, p.sameness, p.alone from path p cross join lateral (
        select i.inhparent as via, array(select a.attnum::int4 from pg_catalog.pg_attribute b
          join pg_catalog.pg_attribute a on a.attrelid = i.inhparent and a.attname = b.attname and a.attnum > 0
          where b.attrelid = p.via and b.attnum = any(p.numbers)) as numbers
        from pg_catalog.pg_inherits i where i.inhrelid = p.via and not p.alone
        union all
        select v.oid, array(select attnum::int4 from pg_catalog.pg_attribute where attrelid = v.oid and attnum > 0)
        from pg_catalog.pg_depend d join pg_catalog.pg_rewrite w on w.oid = d.objid and w.rulename = '_RETURN'
        join pg_catalog.pg_class v on v.oid = w.ev_class and v.relkind = 'v'
        where d.classid = 'pg_catalog.pg_rewrite'::regclass and d.refclassid = 'pg_catalog.pg_class'::regclass
          and d.refobjid = p.via and d.refobjsubid = any(p.numbers)
          and ${mayWriteBelow}
          and not exists (select 1 from pg_catalog.pg_options_to_table(v.reloptions)
            where option_name = 'security_invoker' and option_value::boolean)
          and not exists (select 1 from pg_catalog.pg_depend o where o.classid = d.classid and o.objid = d.objid
            and o.refclassid = d.refclassid and o.refobjid not in (p.via, v.oid))
          and case when pg_catalog.pg_column_size(w.ev_action) < ${mostDefinition}
            then pg_catalog.left(w.ev_action::text, 400) !~ ':hasAggs true' else true end
      ) n
      where pg_catalog.cardinality(n.numbers) > 0
        and not exists (select 1 from start s where s.via = n.via and s.sameness = p.sameness)
    )
    select p.at, p.via::int8 as via, c.relkind = 'v' as "isView", pg_catalog.format('%I.%I', n.nspname, c.relname) as name,
      o.rolname::text as owner, array(select a.attnum::int4 from pg_catalog.pg_attribute a
        where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped) as all,
      ${writerEntries(sql, sql`p.numbers`, privileges)} as acl
    from path p join pg_catalog.pg_class c on c.oid = p.via join pg_catalog.pg_namespace n on n.oid = c.relnamespace
    join pg_catalog.pg_roles o on o.oid = c.relowner order by 1, 4`
}

/** Of a view, as stored: a larger one counts whatever it does. */
const mostDefinition = 32_768
