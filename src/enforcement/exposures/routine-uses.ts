import type { Query, Row } from '../../db/sql.ts'
import type { Scene } from './exposure.ts'
import { treeText } from './stored-trees.ts'
import { firstNormalOid, selectUsedTypes } from './used-types.ts'
import { selectWholeRow } from './whole-rows.ts'

/** A place of a relation or domain in which PostgreSQL calls a function. */
export interface RoutineUse {
  readonly oid: number
  readonly schema: string
  readonly name: string
  readonly kind: string
  readonly owner: string
  readonly place: string
  /** The policy, trigger, index or the like that calls it. */
  readonly object: number
  readonly id: number
  readonly routine: string
  readonly maker: string
  /** Columns of the relation whose values it gets. */
  readonly keys: readonly number[]
}

/** The first hidden column whose values the function gets. A view hands on what its twin reads. */
export function findHidden({ byOid }: Scene, { oid, kind, place, keys }: RoutineUse): string | undefined {
  if (place === 'default' || place === 'view' || kind === 'domain') return
  return byOid.get(oid)?.hidden.find(({ number }) => keys.includes(number))?.name
}

/**
 * Begins with some functions, and looks up what depends on each: directly, by an operator or operator class, through a body in standard SQL
 * or an aggregate, and by the check of a domain that an expression casts to. Functions and domains of masked roles are not passed through: they
 * are found themselves, and may be made in any number. `isAsked`: a condition on the function `f` in the language `l` of the owner `o`;
 * `isNear`: one on the relation `t`.
 */
export function readRoutineUses(
  { sql, book, version }: Scene,
  isAsked: Query<Row[]>,
  isNear: Query<Row[]> = sql`true`,
): Promise<RoutineUse[]> {
  const castsInBody =
    version < 140000
      ? sql`false`
      : sql`exists (select 1 from pg_catalog.pg_proc b where b.oid = d.objid and b.prosqlbody is not null
          and coalesce(pg_catalog.strpos(${treeText(sql, sql`b.prosqlbody`)}, ':resulttype ' || c.object || ' ') > 0, true))`
  return sql<RoutineUse[]>`
    with recursive routine as materialized (
      select f.oid from pg_catalog.pg_proc f join pg_catalog.pg_roles o on o.oid = f.proowner
      join pg_catalog.pg_language l on l.oid = f.prolang where ${isAsked}
    ), masked as materialized (select oid from pg_catalog.pg_roles where rolname = any(${book.ofWatched}::text[])
    ), method as materialized (
      select 'pg_catalog.pg_proc'::regclass::oid as class, m.amproc::oid as object, s.oid as opclass
        from pg_catalog.pg_amproc m join pg_catalog.pg_opclass s on s.opcfamily = m.amprocfamily where m.amproc::oid >= ${firstNormalOid}
      union select 'pg_catalog.pg_operator'::regclass, m.amopopr, s.oid
        from pg_catalog.pg_amop m join pg_catalog.pg_opclass s on s.opcfamily = m.amopfamily where m.amopopr >= ${firstNormalOid}
    ), called as (
      select 'pg_catalog.pg_proc'::regclass::oid as class, oid as object, oid as routine from routine
      union
      select next.class, next.object, c.routine from called c cross join lateral (
        select d.classid as class, d.objid as object from pg_catalog.pg_depend d
          where d.refclassid = c.class and d.refobjid = c.object
            and (c.class in ('pg_catalog.pg_proc'::regclass, 'pg_catalog.pg_operator'::regclass, 'pg_catalog.pg_opclass'::regclass)
                and d.classid <> 'pg_catalog.pg_type'::regclass
              -- Arguments and columns of a domain have been checked already: expressions and bodies that cast to it count.
              or c.class = 'pg_catalog.pg_type'::regclass and d.objsubid = 0 and (d.classid <> 'pg_catalog.pg_proc'::regclass or ${castsInBody}))
        union all
        select 'pg_catalog.pg_type'::regclass, k.contypid from pg_catalog.pg_constraint k
          where c.class = 'pg_catalog.pg_constraint'::regclass and k.oid = c.object and k.contypid <> 0
        union all
        select 'pg_catalog.pg_opclass'::regclass, m.opclass from method m where m.class = c.class and m.object = c.object
      ) next
      where not exists (select 1 from pg_catalog.pg_proc m join masked on masked.oid = m.proowner
          where next.class = 'pg_catalog.pg_proc'::regclass and m.oid = next.object)
        and not exists (select 1 from pg_catalog.pg_type m join masked on masked.oid = m.typowner
          where next.class = 'pg_catalog.pg_type'::regclass and m.oid = next.object)
    ), used as (
      select c.*, k.conrelid as relation, 'check' as place, ${treeText(sql, sql`k.conbin`)} as expression, false as gets_row from called c
        join pg_catalog.pg_constraint k on c.class = 'pg_catalog.pg_constraint'::regclass and k.oid = c.object and k.contype in ('c', 'x')
      union all
      select c.*, x.indrelid, 'index', ${treeText(sql, sql`x.indexprs`, sql`x.indpred`)}, false from called c
        join pg_catalog.pg_index x on c.class = 'pg_catalog.pg_class'::regclass and x.indexrelid = c.object
      union all
      select c.*, x.partrelid, 'partition key', ${treeText(sql, sql`x.partexprs`)}, false from called c
        join pg_catalog.pg_partitioned_table x on c.class = 'pg_catalog.pg_class'::regclass and x.partrelid = c.object
      union all
      select c.*, p.polrelid, 'row policy', ${treeText(sql, sql`p.polqual`, sql`p.polwithcheck`)}, false from called c
        join pg_catalog.pg_policy p on c.class = 'pg_catalog.pg_policy'::regclass and p.oid = c.object
      union all
      select c.*, e.adrelid, case a.attgenerated when '' then 'default' else 'generated column' end, '', false from called c
        join pg_catalog.pg_attrdef e on c.class = 'pg_catalog.pg_attrdef'::regclass and e.oid = c.object
        join pg_catalog.pg_attribute a on a.attrelid = e.adrelid and a.attnum = e.adnum
      union all
      select c.*, s.stxrelid, 'statistics object', '', false from called c
        join pg_catalog.pg_statistic_ext s on c.class = 'pg_catalog.pg_statistic_ext'::regclass and s.oid = c.object
      union all
      select c.*, g.tgrelid, 'trigger', '', (g.tgtype & 1) = 1 or g.tgoldtable is not null or g.tgnewtable is not null from called c
        join pg_catalog.pg_trigger g on c.class = 'pg_catalog.pg_trigger'::regclass and g.oid = c.object
          and not g.tgisinternal and g.tgenabled <> 'D'
      union all
      select c.*, w.ev_class, case w.rulename when '_RETURN' then 'view' else 'rule' end,
          case w.rulename when '_RETURN' then '' else ${treeText(sql, sql`w.ev_qual`, sql`w.ev_action`)} end, false from called c
        join pg_catalog.pg_rewrite w on c.class = 'pg_catalog.pg_rewrite'::regclass and w.oid = c.object and w.ev_enabled <> 'D'
    )
    select distinct t.oid::int8 as oid, n.nspname::text as schema, t.relname::text as name, o.rolname::text as owner, u.place,
      case t.relkind when 'v' then 'view' when 'm' then 'materialized view' when 'f' then 'foreign table' else 'table' end as kind,
      u.object::int8 as object, u.routine::int8 as id, u.routine::regprocedure::text as routine, m.rolname::text as maker,
      -- Compared as int8: by the index of refobjid, each would be searched for among all that depends on the table.
      array(select d.refobjsubid from pg_catalog.pg_depend d where d.classid = u.class and d.objid = u.object
        and d.refclassid = 'pg_catalog.pg_class'::regclass and d.refobjid::int8 = t.oid::int8 and d.refobjsubid > 0
        -- The columns of a partition key depend on the table, not the other way round.
        union select d.objsubid from pg_catalog.pg_depend d where u.place = 'partition key' and d.classid = 'pg_catalog.pg_class'::regclass
          and d.objid = t.oid and d.objsubid > 0 and d.refclassid = 'pg_catalog.pg_class'::regclass and d.refobjid = t.oid and d.refobjsubid = 0
        union ${selectWholeRow(sql, sql`t.oid`, sql`u.expression`)}
        union select attnum from pg_catalog.pg_attribute where u.gets_row and attrelid = t.oid and attnum > 0) as keys
    from used u join pg_catalog.pg_proc f on f.oid = u.routine join pg_catalog.pg_roles m on m.oid = f.proowner
    join pg_catalog.pg_class t on t.oid = u.relation
    join pg_catalog.pg_namespace n on n.oid = t.relnamespace join pg_catalog.pg_roles o on o.oid = t.relowner
    where ${isNear}
    union all
    select y.oid::int8, n.nspname::text, y.typname::text, o.rolname::text, 'check of a domain', 'domain', k.oid::int8, f.oid::int8,
      f.oid::regprocedure::text, m.rolname::text, array[]::int4[]
    from called c join pg_catalog.pg_proc f on f.oid = c.routine join pg_catalog.pg_roles m on m.oid = f.proowner
    join pg_catalog.pg_constraint k on c.class = 'pg_catalog.pg_constraint'::regclass and k.oid = c.object
    join pg_catalog.pg_type y on y.oid = k.contypid join pg_catalog.pg_namespace n on n.oid = y.typnamespace
    join pg_catalog.pg_roles o on o.oid = y.typowner
    order by 1, 5, 9, 7`
}

/**
 * A range type names functions that PostgreSQL calls with the bounds of its values: to compare them in an index and by ANALYZE, and to
 * bring them into one form whenever a range is made. `isAsked` as above.
 */
export function readRangeUses(
  scene: Scene,
  seers: readonly string[],
  isAsked: Query<Row[]>,
): Promise<RoutineUse[]> {
  const { sql } = scene
  const named = sql`join pg_catalog.pg_proc f on f.oid in (r.rngsubdiff, r.rngcanonical)
    join pg_catalog.pg_language l on l.oid = f.prolang
    join pg_catalog.pg_roles o on o.oid = f.proowner and (${isAsked})`
  return sql<RoutineUse[]>`
    with recursive ${selectUsedTypes(scene, seers, sql`exists (select 1 from pg_catalog.pg_range r ${named})`)}
    select distinct w.oid::int8 as oid, w.schema, w.name, w.kind, w.owner, u.place || ' of ranges' as place, 0 as object,
      f.oid::int8 as id, f.oid::regprocedure::text as routine, o.rolname::text as maker, array[u.number]::int4[] as keys
    from part p join pg_catalog.pg_range r on p.type in (r.rngtypid, (to_jsonb(r) ->> 'rngmultitypid')::oid)
    ${named}
    join typed u on u.type = p.root join owned w on w.oid = u.oid and w.kind = u.kind
    order by 1, 6, 9`
}
