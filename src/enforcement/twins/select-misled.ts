import type { Sql } from '../../db/sql.ts'
import type { Snapshot } from '../catalog.ts'
import type { Desired, DesiredRelation } from '../plan.ts'
import { isRestrictive } from '../read-definitions.ts'
import { deferInCondition } from './defer-literals.ts'

/** Lower OIDs are of objects that the server has from its beginning: no name of a role leads to another of them. */
const firstOfUsers = 16_384

/** A twin that is not as it is to be, or may be so. */
export interface Misled {
  readonly name: string
  /** What it uses and its relation does not; null: not a single object tells. */
  readonly used: string | null
  /** What its relation uses instead, with an argument of a domain; null: there is none. */
  readonly replaced: string | null
  /** A type that it has without a dependency, and the other one that its relation has there; null: these are the same. */
  readonly types: readonly [own: string, theirs: string] | null
  /** Where it uses less than its relation, or in another order: all that it uses, in its order. */
  readonly uses: readonly number[] | null
  /** What its relation uses then, with twins in place of what is masked. */
  readonly known: readonly number[] | null
}

/**
 * Twins of another owner than the plan gives them, and those that use something else than they are to. The definition of a view and the
 * conditions of row policies are text in a twin, so PostgreSQL looks their names up again: a role may have exchanged these meanwhile, or
 * have overloaded a function or operator. A twin may read the relation itself; or, for the twin of a view, what the view reads,
 * with the recorded twins in place of what is masked. It may depend on what the view or the policies depend on, and on what masks and
 * deferred literals take. Functions, operators and relations come in the order in which the view or the policies have them: each of two may
 * be of a role that is to see the arguments of one call alone. No function is missing: PostgreSQL reads `app.f(x)` as a cast where a role
 * has named a type `app.f`, and the checks of that type get the value. Nor is a type that has no dependency;
 * types of rows of what is masked are those of its twin. `isMisled` judges the rows.
 */
export function selectMisled(
  tx: Sql,
  made: readonly DesiredRelation[],
  snapshot: Snapshot,
  desired: Desired,
) {
  const twins = made.flatMap(({ twin }) => twin ?? [])
  const released = desired.released.map(({ guard }) => guard.oid)
  // A constant of type regclass reads nothing, and does not stand in the list of relations of a query.
  const isRead = tx`d.oid = any(q.relations)`
  const replacement = tx`m.relations[pg_catalog.array_position(s.relations, u.oid)]`
  return tx<Misled[]>`
    select pg_catalog.format('%I.%I', t.s, t.r) as name, pg_catalog.pg_describe_object(x.class, x.oid, 0) as used, ${selectReplaced(tx)} as replaced,
      case when x.oid is null then ${selectTypesApart(tx)} end as types,
      case when not j.differs then u.uses end as uses, case when not j.differs then f.uses end as known
    from unnest(${twins.map(({ schema }) => schema)}::text[],
      ${twins.map(({ name }) => name)}::text[], ${made.map(({ relation }) => relation.oid)}::int8[]::oid[],
      ${made.map(({ readsItself }) => readsItself)}::boolean[], ${made.map(listRefused)}::text[],
      ${twins.map(({ owner }) => owner)}::text[]) as t(s, r, own, reads_own, refused, owner)
    join pg_catalog.pg_namespace n on n.nspname = t.s
    join pg_catalog.pg_class c on c.relnamespace = n.oid and c.relname = t.r
    join pg_catalog.pg_rewrite w on w.ev_class = c.oid and w.rulename = '_RETURN'
    cross join lateral (
      select coalesce(pg_catalog.array_agg(${keyOf(tx, tx`e`)}), '{}') as keys,
        coalesce(pg_catalog.array_agg(e.refobjid) filter (where e.refobjid <> t.own and ${isRelation(tx, tx`e`)}), '{}') as relations,
        pg_catalog.count(*) filter (where e.refobjid <> t.own and (${isRelation(tx, tx`e`)}
          or e.refclassid in ('pg_catalog.pg_proc'::regclass, 'pg_catalog.pg_operator'::regclass))) > 1 as is_ordered,
        pg_catalog.count(*) filter (where e.refclassid = 'pg_catalog.pg_proc'::regclass) > 0 as has_calls
      from (select distinct d.refclassid, d.refobjid from (${selectSources(tx)}) s
        join pg_catalog.pg_depend d on d.classid = s.classid and d.objid = s.oid) e
    ) s
    cross join lateral (
      select coalesce(pg_catalog.array_agg(case when g.oid is null then r.oid else x.oid end order by r.at), '{}') as relations
      from unnest(s.relations) with ordinality r(oid, at)
      left join ${tx(snapshot.guard.schema)}.relation g on not t.reads_own and g.oid = r.oid and g.oid <> all(${released}::int8[]::oid[])
      left join pg_catalog.pg_namespace h on h.nspname = g.twin ->> 'schema'
      left join pg_catalog.pg_class x on x.relnamespace = h.oid and x.relname = g.twin ->> 'name'
    ) m
    cross join lateral (select s.has_calls or ${hidesTypes(tx, tx`w.ev_action::text`)} as is_compared) h
    cross join lateral (
      select coalesce(pg_catalog.array_agg(coalesce(case when u.kind = 'relid' then ${replacement} end, u.oid)::int8 order by u.at), '{}') as uses,
        pg_catalog.array_agg(u.oid order by u.at) filter (where ${isNeverMissing(tx)}) as needed,
        pg_catalog.array_agg(u.oid order by u.at) filter (where ${isType(tx)}) as types
      from (select u.kind, u.at, coalesce(y.oid, u.oid) as oid from (${selectTree(tx)}) v cross join ${listUses(tx, tx`v.tree`)} u
        left join lateral (${selectTwinType(tx, snapshot, released)}) y on true where h.is_compared or s.is_ordered) u
    ) f
    cross join lateral (
      select coalesce(pg_catalog.array_agg(u.oid::int8 order by u.at), '{}') as uses,
        pg_catalog.array_agg(u.oid order by u.at) filter (where ${isNeverMissing(tx)}) as needed,
        pg_catalog.array_agg(u.oid order by u.at) filter (where ${isType(tx)}) as types
      from ${listUses(tx, tx`w.ev_action::text`)} u where h.is_compared or s.is_ordered
    ) u
    cross join lateral (${selectRead(tx)}) q
    left join lateral (select d.class, d.oid from ${usesOf(tx)} d where case
        when d.class = 'pg_catalog.pg_class'::regclass then d.oid <> c.oid and not (t.reads_own and d.oid = t.own)
          and (d.oid = any(m.relations)) is not true and ${isRead}
        when d.key = any(s.keys) then false
        when d.class = 'pg_catalog.pg_proc'::regclass then d.oid not in (${selectBaseCasts(tx)})
        when d.class = 'pg_catalog.pg_type'::regclass then not exists (${selectTypes(tx)})
        when d.class = 'pg_catalog.pg_collation'::regclass then not exists (select 1 from pg_catalog.pg_attribute a
          where a.attrelid = any(t.own || s.relations) and a.attcollation = d.oid)
        else true end order by d.key limit 1) x on true
    cross join lateral (
      select x.oid is not null or pg_catalog.pg_get_userbyid(c.relowner) <> t.owner
        or t.reads_own and not exists (select 1 from ${usesOf(tx)} d where d.oid = t.own and ${isRead})
        or h.is_compared and f.needed is distinct from u.needed as differs
    ) j
    where j.differs or s.is_ordered and f.uses <> u.uses`
}

/** False for a twin that lacks something at most: PostgreSQL prints IS DISTINCT FROM without the schema of its operator. */
export function isMisled({ uses, known }: Misled): boolean {
  if (!uses || !known) return true
  let at = -1
  return !uses.every((oid) => {
    at = known.indexOf(oid, at + 1)
    return at >= 0
  })
}

/** What the relation uses under the name of `x` that takes a domain where `x` takes another type. */
function selectReplaced(tx: Sql) {
  const routines = tx`lateral (
    select 'pg_catalog.pg_proc'::regclass as class, p.oid, p.pronamespace as space, p.proname as name, p.proargtypes::oid[] as types
    from pg_catalog.pg_proc p
    union all select 'pg_catalog.pg_operator'::regclass, o.oid, o.oprnamespace, o.oprname, array[o.oprleft, o.oprright] from pg_catalog.pg_operator o)`
  return tx`(select pg_catalog.pg_describe_object(q.class, q.oid, 0) from ${routines} p join ${routines} q using (class, space, name)
    where p.class = x.class and p.oid = x.oid and (q.class::oid::int8 << 32) + q.oid::int8 = any(s.keys)
      and pg_catalog.cardinality(p.types) = pg_catalog.cardinality(q.types) and exists (
        select 1 from unnest(p.types, q.types) a(own, theirs) join pg_catalog.pg_type y on y.oid = a.theirs
        where y.typtype = 'd' and a.own <> a.theirs)
    order by q.oid limit 1)`
}

type Part = ReturnType<Sql['unsafe']>

const isRelation = (tx: Sql, row: Part) => tx`${row}.refclassid = 'pg_catalog.pg_class'::regclass`

/** Class and OID of an object as one number. */
const keyOf = (tx: Sql, row: Part) => tx`(${row}.refclassid::int8 << 32) + ${row}.refobjid::int8`

/** The first type without a dependency that is another one in the twin; null: there is none, or one of the two has fewer. */
function selectTypesApart(tx: Sql) {
  return tx`(select array[pg_catalog.format_type(y.own, null), pg_catalog.format_type(y.theirs, null)]
    from unnest(u.types, f.types) with ordinality y(own, theirs, at)
    where y.own <> y.theirs and pg_catalog.cardinality(u.types) = pg_catalog.cardinality(f.types) order by y.at limit 1)`
}

/** The type of the rows of a twin, or of arrays of these, where `u` is that of its relation: the text of the view moves there as well. */
function selectTwinType(tx: Sql, { guard }: Snapshot, released: readonly number[]) {
  return tx`select case when y.oid = e.oid then k.oid else k.typarray end as oid
    from pg_catalog.pg_type y
    join pg_catalog.pg_type e on e.oid = case when y.typrelid = 0 then y.typelem else y.oid end and y.oid in (e.oid, e.typarray)
    join ${tx(guard.schema)}.relation g on g.oid = e.typrelid and g.oid <> all(${released}::int8[]::oid[])
    join pg_catalog.pg_namespace h on h.nspname = g.twin ->> 'schema'
    join pg_catalog.pg_class x on x.relnamespace = h.oid and x.relname = g.twin ->> 'name'
    join pg_catalog.pg_type k on k.oid = x.reltype
    where ${isType(tx)} and y.oid = u.oid and not t.reads_own`
}

/** The rule of the view, or the row policies, that the text of a twin was printed from. */
function selectSources(tx: Sql) {
  return tx`select 'pg_catalog.pg_rewrite'::regclass as classid, v.oid from pg_catalog.pg_rewrite v
      where not t.reads_own and v.ev_class = t.own and v.rulename = '_RETURN'
    union all select 'pg_catalog.pg_policy'::regclass, p.oid from pg_catalog.pg_policy p
      where t.reads_own and p.polrelid = t.own and ${isRestrictive(tx)}`
}

/** The positions of row policies whose condition became `false` in the twin, as one text. */
function listRefused({ relation }: DesiredRelation): string {
  return relation.restrictions
    .flatMap(({ condition }, at) => (deferInCondition(condition) === 'false' ? at + 1 : []))
    .join(',')
}

/** The same as parsed, in the order in which the twin has them. */
function selectTree(tx: Sql) {
  return tx`select case when t.reads_own then (select pg_catalog.string_agg(q.condition, ' ' order by q.at)
      from (select p.polqual::text as condition, pg_catalog.row_number() over (order by p.polname) as at
        from pg_catalog.pg_policy p where p.polrelid = t.own and ${isRestrictive(tx)}) q
      where q.at <> all(pg_catalog.string_to_array(t.refused, ',')::int8[]))
    else (select v.ev_action::text from pg_catalog.pg_rewrite v where v.ev_class = t.own and v.rulename = '_RETURN') end as tree`
}

/**
 * The relations in the rule of the twin: searched once, as a masked role may give it thousands of dependencies and megabytes. A name that
 * ends in `:relid`, as of a column, is followed by the next field in place of a number.
 */
function selectRead(tx: Sql) {
  return tx`select coalesce(pg_catalog.array_agg(distinct case when n.number ~ '^[0-9]+$' then n.number::oid end)
      filter (where n.number ~ '^[0-9]+$'), '{}') as relations
    from unnest(pg_catalog.string_to_array(w.ev_action::text, ':relid ')) with ordinality p(part, at)
    cross join lateral (select pg_catalog.split_part(pg_catalog.left(p.part, 11), ' ', 1) as number) n where p.at > 1`
}

/** What the rule of the twin depends on. */
function usesOf(tx: Sql) {
  // There is a row for each column. `offset 0`: conditions on the whole rule are not tried for each of them.
  return tx`lateral (select distinct d.refclassid as class, d.refobjid as oid, ${keyOf(tx, tx`d`)} as key
    from pg_catalog.pg_depend d where d.objid = w.oid and d.classid = 'pg_catalog.pg_rewrite'::regclass offset 0)`
}

/**
 * Functions of casts between base types. A cast to a type with a modifier, as in masks, and one of text, as of deferred literals, may call one.
 * It is a superuser's, or that of a role that a superuser gave the type to: other roles make neither base types nor casts of them.
 */
function selectBaseCasts(tx: Sql) {
  const isBase = (type: Part) => tx`${type}.typtype = 'b' and ${type}.typelem = 0`
  return tx`select k.castfunc from pg_catalog.pg_cast k join pg_catalog.pg_type a on a.oid = k.castsource
    join pg_catalog.pg_type b on b.oid = k.casttarget where k.castfunc >= ${firstOfUsers}::oid and ${isBase(tx`a`)} and ${isBase(tx`b`)}`
}

/** Whether `d` is the type of a column, below its domains, or of a row; of the relation and of what it and its twin read. */
function selectTypes(tx: Sql) {
  return tx`with recursive known as (
      select a.atttypid as oid from pg_catalog.pg_attribute a where a.attrelid = any(t.own || s.relations) and not a.attisdropped
      union select r.reltype from pg_catalog.pg_class r where r.oid = any(t.own || s.relations || m.relations)
      union select u.oid from known join pg_catalog.pg_type y on y.oid = known.oid
        cross join lateral (values (y.typbasetype), (y.typelem), (y.typarray)) u(oid) where u.oid <> 0
    ) select 1 from known where known.oid = d.oid`
}

/**
 * Functions, operators and relations of roles in a parsed expression, in its order, and types that PostgreSQL records no dependency on. A
 * twin may lack operators: PostgreSQL prints IS DISTINCT FROM without the schema of its one. An array that is not empty has the type of its
 * elements, which a mask may change from a domain to the type below.
 */
function listUses(tx: Sql, tree: Part) {
  return tx`lateral (select f.hit[1] as kind, f.hit[2]::oid as oid, f.at from pg_catalog.regexp_matches(${tree},
      ':(funcid|opno|aggfnoid|winfnoid|relid|typid|element_typeid(?= [0-9]+ :elements <>)) ([0-9]{5,})', 'g') with ordinality f(hit, at)
    where f.hit[2]::oid >= ${firstOfUsers}::oid and not (f.hit[1] = 'relid' and f.hit[2]::oid in (t.own, c.oid))
      and not (f.hit[1] = 'funcid' and f.hit[2]::oid in (${selectBaseCasts(tx)})))`
}

/** Whether a twin has types without a dependency: of JSON_VALUE … RETURNING, JSON_TABLE and the like, or of an empty array. */
const hidesTypes = (tx: Sql, tree: Part) =>
  tx`(pg_catalog.strpos(${tree}, '{JSONRETURNING ') > 0 or pg_catalog.strpos(${tree}, ' :elements <>') > 0)`

const isType = (tx: Sql) => tx`u.kind in ('typid', 'element_typeid')`

/** Operators may be, and relations are compared by the dependencies. */
const isNeverMissing = (tx: Sql) => tx`u.kind not in ('opno', 'relid')`
