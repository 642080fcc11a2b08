import { quoteIdentifier, quoteQualified } from '../../db/quote.ts'
import { type Exposure, kind, type Scene } from './exposure.ts'
import { listMakers, listSeers } from './seers.ts'
import { treeText } from './stored-trees.ts'
import { selectUsedTypes } from './used-types.ts'
import { selectWholeRow } from './whole-rows.ts'

interface UseRow {
  readonly oid: number
  readonly schema: string
  readonly name: string
  readonly kind: string
  readonly owner: string
  readonly place: string
  readonly routine: string
  readonly maker: string
  /** Columns of the relation whose values it gets. */
  readonly keys: readonly number[]
}

type Found = Pick<Exposure, 'objects' | 'roles' | 'explanation' | 'remedy'>

/**
 * PostgreSQL calls a function wherever a relation needs it, with raw values of the row and as the role that writes, reads or
 * maintains the relation. The owner of the function may replace its text.
 */
export const routineOwner = kind<Found>({
  code: 'RoutineOwner',
  severity: 'high',
  async read(scene) {
    const seers = listSeers(scene)
    const uses = [...(await readUses(scene)), ...(await readRangeUses(scene, seers))].map((use) => ({
      ...use,
      roles: listMakers(scene, use.maker, use.owner),
      column: findColumn(scene, use),
    }))
    const lent = uses.filter(({ column, owner }) => column === undefined && seers.includes(owner))
    return [
      ...(await readEvents(scene)),
      ...uses.flatMap((use) => (use.column === undefined ? [] : [describeValues(use, use.column)])),
      ...[...Map.groupBy(lent, ({ routine, owner }) => JSON.stringify([routine, owner])).values()].map(
        describeCode,
      ),
    ]
  },
  describe: (found) => found,
})

/** The first hidden column whose values the function gets. */
function findColumn({ byOid }: Scene, { oid, kind, place, keys }: UseRow): string | undefined {
  if (place === 'default' || place === 'view' || kind === 'domain') return
  return byOid.get(oid)?.hidden.find(({ number }) => keys.includes(number))?.name
}

const named = ({ schema, name, kind }: UseRow) => ({ kind, name: quoteQualified(schema, name) })

type Use = UseRow & { readonly roles: readonly string[] }

function describeValues(use: Use, column: string): Found {
  const { place, routine, maker, owner, roles } = use
  return {
    objects: [{ kind: 'routine', name: routine }, named(use)],
    roles,
    explanation: `A ${place} of the ${use.kind} calls ${routine} with raw values of ${column}, and ${quoteIdentifier(maker)} owns it: the owner can replace its text by one that shows them. Read the text before you give it another owner.`,
    remedy: `ALTER ROUTINE ${routine} OWNER TO ${quoteIdentifier(owner)}`,
  }
}

/** Once for all relations of one owner. */
function describeCode(uses: readonly Use[]): Found {
  const { routine, maker, owner, roles } = uses[0] as Use
  const relations = new Map(uses.map((use) => [use.oid, named(use)]))
  const places = [...new Set(uses.map(({ place }) => place))].join(', ')
  return {
    objects: [{ kind: 'routine', name: routine }, ...relations.values()],
    roles,
    explanation: `Objects of ${quoteIdentifier(owner)}, whose rights lead to raw values, call ${routine} (${places}), and ${quoteIdentifier(maker)} owns it. PostgreSQL runs the function as the role that writes, reads or maintains them: the owner can replace its text by one that reads raw values. Read the text before you give it another owner.`,
    remedy: `ALTER ROUTINE ${routine} OWNER TO ${quoteIdentifier(owner)}`,
  }
}

/** Begins with the functions of masked roles, which are few, and looks up what depends on each. */
function readUses({ sql, book }: Scene): Promise<UseRow[]> {
  return sql<UseRow[]>`
    with routine as materialized (
      select f.oid, o.rolname::text as maker from pg_catalog.pg_proc f join pg_catalog.pg_roles o on o.oid = f.proowner
      where o.rolname = any(${book.ofWatched}::text[])
    ), called as (
      select oid as class, oid as object, oid as routine from routine where false
      union select d.classid, d.objid, r.oid from routine r
        join pg_catalog.pg_depend d on d.refclassid = 'pg_catalog.pg_proc'::regclass and d.refobjid = r.oid
      union select d.classid, d.objid, r.oid from routine r join pg_catalog.pg_operator p on p.oprcode = r.oid
        join pg_catalog.pg_depend d on d.refclassid = 'pg_catalog.pg_operator'::regclass and d.refobjid = p.oid
      union select d.classid, d.objid, r.oid from routine r
        join (select amproc::oid as routine, amprocfamily as family from pg_catalog.pg_amproc
          union select p.oprcode, a.amopfamily from pg_catalog.pg_amop a join pg_catalog.pg_operator p on p.oid = a.amopopr) m
          on m.routine = r.oid
        join pg_catalog.pg_opclass c on c.opcfamily = m.family
        join pg_catalog.pg_depend d on d.refclassid = 'pg_catalog.pg_opclass'::regclass and d.refobjid = c.oid
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
      select c.*, w.ev_class, case w.rulename when '_RETURN' then 'view' else 'rule' end, '', false from called c
        join pg_catalog.pg_rewrite w on c.class = 'pg_catalog.pg_rewrite'::regclass and w.oid = c.object and w.ev_enabled <> 'D'
    )
    select distinct t.oid::int8 as oid, n.nspname::text as schema, t.relname::text as name, o.rolname::text as owner, u.place,
      case t.relkind when 'v' then 'view' when 'm' then 'materialized view' when 'f' then 'foreign table' else 'table' end as kind,
      u.routine::regprocedure::text as routine, r.maker,
      array(select d.refobjsubid from pg_catalog.pg_depend d where d.classid = u.class and d.objid = u.object
        and d.refclassid = 'pg_catalog.pg_class'::regclass and d.refobjid = t.oid and d.refobjsubid > 0
        union ${selectWholeRow(sql, sql`t.oid`, sql`u.expression`)}
        union select attnum from pg_catalog.pg_attribute where u.gets_row and attrelid = t.oid and attnum > 0) as keys
    from used u join routine r on r.oid = u.routine join pg_catalog.pg_class t on t.oid = u.relation
    join pg_catalog.pg_namespace n on n.oid = t.relnamespace join pg_catalog.pg_roles o on o.oid = t.relowner
    union all
    select y.oid::int8, n.nspname::text, y.typname::text, o.rolname::text, 'check of a domain', 'domain', f.oid::regprocedure::text,
      r.maker, array[]::int4[]
    from called c join routine r on r.oid = c.routine join pg_catalog.pg_proc f on f.oid = r.oid
    join pg_catalog.pg_constraint k on c.class = 'pg_catalog.pg_constraint'::regclass and k.oid = c.object
    join pg_catalog.pg_type y on y.oid = k.contypid join pg_catalog.pg_namespace n on n.oid = y.typnamespace
    join pg_catalog.pg_roles o on o.oid = y.typowner
    order by 1, 5, 7`
}

/**
 * A range type names functions that PostgreSQL calls with the bounds of its values: to compare them in an index and by ANALYZE, and to
 * bring them into one form whenever a range is made.
 */
function readRangeUses(scene: Scene, seers: readonly string[]): Promise<UseRow[]> {
  const { sql, book } = scene
  const ofMasked = sql`join pg_catalog.pg_proc f on f.oid in (r.rngsubdiff, r.rngcanonical)
    join pg_catalog.pg_roles m on m.oid = f.proowner and m.rolname = any(${book.ofWatched}::text[])`
  const isAsked = sql`exists (select 1 from pg_catalog.pg_range r ${ofMasked})`
  return sql<UseRow[]>`
    with recursive ${selectUsedTypes(scene, seers, isAsked)}
    select distinct o.oid::int8 as oid, o.schema, o.name, o.kind, o.owner, u.place || ' of ranges' as place,
      f.oid::regprocedure::text as routine, m.rolname::text as maker, array[u.number]::int4[] as keys
    from part p join pg_catalog.pg_range r on p.type in (r.rngtypid, (to_jsonb(r) ->> 'rngmultitypid')::oid)
    ${ofMasked}
    join typed u on u.type = p.root join owned o on o.oid = u.oid and o.kind = u.kind
    order by 1, 5, 7`
}

/** An event trigger runs as the role whose statement fires it, the role of the binding among them. */
async function readEvents(scene: Scene): Promise<Found[]> {
  const rows = await scene.sql<{ name: string; owner: string; routine: string; maker: string }[]>`
    select e.evtname::text as name, o.rolname::text as owner, f.oid::regprocedure::text as routine, m.rolname::text as maker
    from pg_catalog.pg_event_trigger e join pg_catalog.pg_roles o on o.oid = e.evtowner
    join pg_catalog.pg_proc f on f.oid = e.evtfoid join pg_catalog.pg_roles m on m.oid = f.proowner
    where e.evtenabled <> 'D' order by 1`
  return rows.map(({ name, owner, routine, maker }) => ({
    objects: [
      { kind: 'routine', name: routine },
      { kind: 'event trigger', name: quoteIdentifier(name) },
    ],
    roles: listMakers(scene, maker, owner),
    explanation: `The event trigger runs ${routine} as each role that changes objects, the role of the binding among them, and ${quoteIdentifier(maker)} owns it: the owner can replace its text by one that reads raw values. Read the text before you give it another owner.`,
    remedy: `ALTER ROUTINE ${routine} OWNER TO ${quoteIdentifier(owner)}`,
  }))
}
