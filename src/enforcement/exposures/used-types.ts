import type { Query, Row } from '../../db/sql.ts'
import type { Scene } from './exposure.ts'
import { treeText } from './stored-trees.ts'

/** Of the first object that no part of PostgreSQL's own catalog has. */
export const firstNormalOid = 16_384

/**
 * SQL for the tables of a WITH RECURSIVE: `owned`, the relations and domains of roles that see raw values, and masked relations; `typed`,
 * the types that each of them uses, in columns and expressions; and `part`, the types inside of these. Begins with what
 * the owners of the relations chose: masked roles may make any number of types. All are empty unless `isAsked`, a condition.
 */
export function selectUsedTypes(scene: Scene, seers: readonly string[], isAsked: Query<Row[]>) {
  const { sql, oids, twinOwners } = scene
  return sql`
    owned as materialized (
      select c.oid, n.nspname::text as schema, c.relname::text as name, o.rolname::text as owner,
        case c.relkind when 'v' then 'view' when 'm' then 'materialized view' when 'f' then 'foreign table' else 'table' end as kind,
        o.rolname = any(${seers}::text[]) as sees
      from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace join pg_catalog.pg_roles o on o.oid = c.relowner
      where ${isAsked} and c.relkind in ('r', 'p', 'm', 'f', 'v') and c.oid >= ${firstNormalOid} and o.rolname <> all(${twinOwners}::text[])
        and (o.rolname = any(${seers}::text[]) or c.oid = any(${oids}::oid[]))
      union all
      select t.oid, n.nspname::text, t.typname::text, o.rolname::text, 'domain', true
      from pg_catalog.pg_type t join pg_catalog.pg_namespace n on n.oid = t.typnamespace join pg_catalog.pg_roles o on o.oid = t.typowner
      where ${isAsked} and t.typtype = 'd' and t.oid >= ${firstNormalOid} and o.rolname = any(${seers}::text[])
    ), expression as materialized (${selectExpressions(sql)}), typed as materialized (
      select o.oid, o.kind, d.objsubid as number, 'column' as place, d.refobjid as type
      from owned o join pg_catalog.pg_depend d on d.classid = 'pg_catalog.pg_class'::regclass and d.objid = o.oid and d.objsubid > 0
        and d.refclassid = 'pg_catalog.pg_type'::regclass
      where o.kind not in ('view', 'domain')
      union
      select e.oid, e.kind, 0, e.place, coalesce(t.refobjid, d.refobjid)
      from expression e join pg_catalog.pg_depend d on d.classid = e.class and d.objid = e.object and d.objsubid = 0
        and d.refclassid in ('pg_catalog.pg_type'::regclass, 'pg_catalog.pg_proc'::regclass)
      -- The functions that make ranges of a type depend on it.
      left join pg_catalog.pg_depend t on d.refclassid = 'pg_catalog.pg_proc'::regclass and t.classid = d.refclassid
        and t.objid = d.refobjid and t.deptype = 'i' and t.refclassid = 'pg_catalog.pg_type'::regclass
      where d.refclassid = 'pg_catalog.pg_type'::regclass or t.refobjid is not null
      ${scene.version < 170_000 ? sql`` : sql`union ${selectReturned(sql)}`}
    ), part as (
      select distinct type as root, type, false as inside from typed
      union
      select p.root, next.type, p.inside or next.inside from part p join pg_catalog.pg_type t on t.oid = p.type cross join lateral (
        select t.typbasetype as type, false as inside where t.typtype = 'd'
        union all select t.typelem, true where t.typtype = 'b' and t.typelem <> 0
        union all select r.rngsubtype, true from pg_catalog.pg_range r
          where t.oid in (r.rngtypid, (to_jsonb(r) ->> 'rngmultitypid')::oid)
        union all select a.atttypid, true from pg_catalog.pg_attribute a
          where t.typtype = 'c' and a.attrelid = t.typrelid and a.attnum > 0 and not a.attisdropped
      ) next
    )`
}

/** The expressions of roles that see raw values, by the object that has each. */
function selectExpressions(sql: Scene['sql']) {
  return sql`
    select o.oid, o.kind, 'pg_catalog.pg_constraint'::regclass as class, k.oid as object, 'check' as place
    from owned o join pg_catalog.pg_constraint k on k.conrelid = o.oid and o.sees and o.kind <> 'domain' and k.contype = 'c'
    union all
    select o.oid, o.kind, 'pg_catalog.pg_constraint'::regclass, k.oid, 'check'
    from owned o join pg_catalog.pg_constraint k on k.contypid = o.oid and o.kind = 'domain' and k.contype = 'c'
    union all
    select o.oid, o.kind, 'pg_catalog.pg_class'::regclass, x.indexrelid, 'index'
    from owned o join pg_catalog.pg_index x on x.indrelid = o.oid and o.sees and o.kind <> 'domain' and (x.indexprs is not null or x.indpred is not null)
    union all
    select o.oid, o.kind, 'pg_catalog.pg_class'::regclass, x.partrelid, 'partition key'
    from owned o join pg_catalog.pg_partitioned_table x on x.partrelid = o.oid and o.sees and o.kind <> 'domain' and x.partexprs is not null
    union all
    select o.oid, o.kind, 'pg_catalog.pg_policy'::regclass, p.oid, 'row policy'
    from owned o join pg_catalog.pg_policy p on p.polrelid = o.oid and o.sees and o.kind <> 'domain'
    union all
    select o.oid, o.kind, 'pg_catalog.pg_attrdef'::regclass, e.oid, case a.attgenerated when '' then 'default' else 'generated column' end
    from owned o join pg_catalog.pg_attrdef e on e.adrelid = o.oid and o.sees and o.kind <> 'domain'
    join pg_catalog.pg_attribute a on a.attrelid = e.adrelid and a.attnum = e.adnum
    union all
    select o.oid, o.kind, 'pg_catalog.pg_statistic_ext'::regclass, s.oid, 'statistics object'
    from owned o join pg_catalog.pg_statistic_ext s on s.stxrelid = o.oid and o.sees and o.kind <> 'domain'
    union all
    select o.oid, o.kind, 'pg_catalog.pg_trigger'::regclass, g.oid, 'trigger'
    from owned o join pg_catalog.pg_trigger g on g.tgrelid = o.oid and o.sees and o.kind <> 'domain' and g.tgqual is not null and g.tgenabled <> 'D'
    union all
    select o.oid, o.kind, 'pg_catalog.pg_rewrite'::regclass, w.oid, case w.rulename when '_RETURN' then 'view' else 'rule' end
    from owned o join pg_catalog.pg_rewrite w on w.ev_class = o.oid and o.sees and o.kind <> 'domain' and w.ev_enabled <> 'D'`
}

/**
 * The types that `JSON_VALUE … RETURNING` and the like name: PostgreSQL records no dependency on them, and the stored expression
 * alone has them. No name can look like one there: PostgreSQL puts a backslash before a space. Long ones are not searched.
 */
function selectReturned(sql: Scene['sql']) {
  return sql`
    select e.oid, e.kind, 0, e.place, m[1]::oid
    from expression e cross join lateral (select case e.class
        when 'pg_catalog.pg_constraint'::regclass then (select ${treeText(sql, sql`k.conbin`)} from pg_catalog.pg_constraint k where k.oid = e.object)
        when 'pg_catalog.pg_class'::regclass then coalesce(
          (select ${treeText(sql, sql`x.indexprs`, sql`x.indpred`)} from pg_catalog.pg_index x where x.indexrelid = e.object),
          (select ${treeText(sql, sql`x.partexprs`)} from pg_catalog.pg_partitioned_table x where x.partrelid = e.object))
        when 'pg_catalog.pg_policy'::regclass then (select ${treeText(sql, sql`p.polqual`, sql`p.polwithcheck`)}
          from pg_catalog.pg_policy p where p.oid = e.object)
        when 'pg_catalog.pg_attrdef'::regclass then (select ${treeText(sql, sql`a.adbin`)} from pg_catalog.pg_attrdef a where a.oid = e.object)
        when 'pg_catalog.pg_statistic_ext'::regclass then (select ${treeText(sql, sql`s.stxexprs`)}
          from pg_catalog.pg_statistic_ext s where s.oid = e.object)
        when 'pg_catalog.pg_trigger'::regclass then (select ${treeText(sql, sql`g.tgqual`)} from pg_catalog.pg_trigger g where g.oid = e.object)
        else (select ${treeText(sql, sql`w.ev_qual`, sql`w.ev_action`)} from pg_catalog.pg_rewrite w where w.oid = e.object) end as tree offset 0) t
    cross join lateral regexp_matches(t.tree, ':typid ([0-9]+) ', 'g') m
    where strpos(t.tree, '{JSONRETURNING ') > 0 and m[1]::oid >= ${firstNormalOid}`
}
