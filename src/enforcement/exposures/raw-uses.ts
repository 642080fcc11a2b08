import type { Query, Row } from '../../db/sql.ts'
import { findMaskedGrantees, writerEntries } from './acl-entries.ts'
import type { AclEntry, Scene } from './exposure.ts'
import { findHidden, type RoutineUse, readRangeUses, readRoutineUses } from './routine-uses.ts'
import { listSeers } from './seers.ts'
import { treeText } from './stored-trees.ts'
import { selectWholeRow } from './whole-rows.ts'
import { addWriters } from './writers.ts'

interface Use extends RoutineUse {
  /** The first hidden column whose values the function gets. */
  readonly column: string
  /** Of the relation that has the column. */
  readonly keeper: string
  /** Null: the column is one of the relation itself. Otherwise the numbers of all columns of the relation, whose policy or rule reads another one. */
  readonly reading: readonly number[] | null
}

type Command = 'SELECT' | 'INSERT' | 'UPDATE' | 'DELETE' | 'ANALYZE'

interface KnownUse extends Use {
  /** Those by which PostgreSQL calls it with values that the role did not write. */
  readonly commands: readonly Command[]
  /** The roles that a row policy is for; null where it is for all, or for the owner of a view. */
  readonly meant: readonly string[] | null
}

export interface RawUse extends KnownUse {
  /** The masked roles by whose statements PostgreSQL calls the function. */
  readonly roles: readonly string[]
}

/** Where PostgreSQL calls functions with raw values by statements of masked roles. `isAsked` is that of `readRoutineUses`. */
export async function readRawUses(scene: Scene, isAsked: Query<Row[]>): Promise<RawUse[]> {
  const { sql, oids, byOid } = scene
  // `offset 0`: asked of the few uses alone.
  const readsMasked = sql`exists (select 1 from pg_catalog.pg_depend d where d.classid = u.class and d.objid = u.object
    and d.refclassid = 'pg_catalog.pg_class'::regclass and d.refobjid = any(${oids}::oid[]) offset 0)`
  const isNear = sql`(t.oid = any(${oids}::oid[]) or u.place in ('row policy', 'rule') and ${readsMasked})`
  const found = [
    ...(await readRoutineUses(scene, isAsked, isNear)),
    ...(await readRangeUses(scene, listSeers(scene), isAsked)).filter(
      ({ place }) => place === 'column of ranges',
    ),
  ]
  const own = found.flatMap((use): Use[] => {
    const column = findHidden(scene, use)
    return column === undefined
      ? []
      : [{ ...use, column, keeper: byOid.get(use.oid)?.owner ?? '', reading: null }]
  })
  return await addCallers(scene, await keepRaw(scene, [...own, ...(await readElsewhere(scene, found))]))
}

interface OtherRow {
  readonly place: string
  readonly object: number
  /** The masked relation that the policy or rule reads. */
  readonly source: number
  readonly keys: readonly number[]
  readonly reading: readonly number[]
}

/** Uses of functions that get hidden columns of other relations than the one whose policy or rule calls them. */
async function readElsewhere(scene: Scene, uses: readonly RoutineUse[]): Promise<Use[]> {
  const { sql, oids, byOid } = scene
  const objects = uses
    .filter(({ place }) => place === 'row policy' || place === 'rule')
    .map(({ object }) => object)
  if (objects.length === 0) return []
  const rows = await sql<OtherRow[]>`
    select o.place, o.object::int8 as object, s.oid::int8 as source,
      array(select d.refobjsubid from pg_catalog.pg_depend d where d.classid = o.class and d.objid = o.object
          and d.refclassid = 'pg_catalog.pg_class'::regclass and d.refobjid = s.oid and d.refobjsubid > 0
        union ${selectWholeRow(sql, sql`s.oid`, sql`o.tree`)}) as keys,
      array(select a.attnum::int4 from pg_catalog.pg_attribute a where a.attrelid = o.relation and a.attnum > 0 and not a.attisdropped) as reading
    from (
      select 'row policy' as place, 'pg_catalog.pg_policy'::regclass as class, p.oid as object, p.polrelid as relation,
        ${treeText(sql, sql`p.polqual`, sql`p.polwithcheck`)} as tree from pg_catalog.pg_policy p where p.oid = any(${objects}::int8[]::oid[])
      union all
      select 'rule', 'pg_catalog.pg_rewrite'::regclass, w.oid, w.ev_class, ${treeText(sql, sql`w.ev_qual`, sql`w.ev_action`)}
      from pg_catalog.pg_rewrite w where w.oid = any(${objects}::int8[]::oid[])
    ) o cross join lateral (select distinct d.refobjid as oid from pg_catalog.pg_depend d where d.classid = o.class and d.objid = o.object
      and d.refclassid = 'pg_catalog.pg_class'::regclass and d.refobjid = any(${oids}::oid[]) and d.refobjid <> o.relation) s`
  const others = Map.groupBy(rows, ({ place, object }) => `${place} ${object}`)
  return uses.flatMap((use) =>
    (others.get(`${use.place} ${use.object}`) ?? []).flatMap(({ source, keys, reading }): Use[] => {
      const relation = byOid.get(source)
      const column = relation?.hidden.find(({ number }) => keys.includes(number))
      return relation && column
        ? [{ ...use, column: `${relation.name}.${column.name}`, keeper: relation.owner, reading }]
        : []
    }),
  )
}

interface Details {
  readonly place: string
  readonly object: number
  readonly commands: readonly Command[]
  readonly meant: readonly string[] | null
  /** The function of a trigger. */
  readonly handler: number | null
  /** Of that function; null where it cannot be judged by its text. */
  readonly text: string | null
}

/** Of a trigger's function, in characters: a longer one counts as one that uses the row. */
const mostText = 20_000

/** All values of a new row are the writer's own, so INSERT counts for those of other relations alone. */
async function keepRaw(scene: Scene, uses: readonly Use[]): Promise<KnownUse[]> {
  const { sql, byOid, version } = scene
  const objects = uses.map(({ object }) => object)
  const rows = await sql<Details[]>`
    select 'row policy' as place, p.oid::int8 as object, null::int8 as handler, null as text,
      case when not c.relrowsecurity then '{}' else case p.polcmd when 'r' then '{SELECT}' when 'w' then '{UPDATE}' when 'd' then '{DELETE}'
        when '*' then '{SELECT,INSERT,UPDATE,DELETE}' else '{INSERT}' end end::text[] as commands,
      case when not 0 = any(p.polroles) then array(select rolname::text from pg_catalog.pg_roles where oid = any(p.polroles)) end as meant
    from pg_catalog.pg_policy p join pg_catalog.pg_class c on c.oid = p.polrelid where p.oid = any(${objects}::int8[]::oid[])
    union all
    select 'trigger', g.oid::int8, g.tgfoid::int8, case when l.lanname = 'plpgsql' and pg_catalog.length(p.prosrc) <= ${mostText}
        and g.tgoldtable is null and g.tgnewtable is null then p.prosrc end,
      array(select x.command from (values (16, 'UPDATE'), (8, 'DELETE')) x(bit, command) where (g.tgtype & x.bit) > 0), null
    from pg_catalog.pg_trigger g join pg_catalog.pg_proc p on p.oid = g.tgfoid join pg_catalog.pg_language l on l.oid = p.prolang
    where g.oid = any(${objects}::int8[]::oid[])
    union all
    select 'rule', w.oid::int8, null, null, case w.ev_type when '2' then '{UPDATE}' when '3' then '{INSERT}' when '4' then '{DELETE}' else '{}' end::text[], null
    from pg_catalog.pg_rewrite w where w.oid = any(${objects}::int8[]::oid[])`
  // Oids are unique in one catalog alone.
  const details = new Map(rows.map((row) => [`${row.place} ${row.object}`, row]))
  return uses.flatMap((use): KnownUse[] => {
    // Since 17 the server sets a search path of its own when it maintains a table.
    const maintained = version < 170000 && /^(index|statistics object|column of ranges)$/.test(use.place)
    const written = use.place === 'statistics object' ? [] : (['UPDATE'] as const)
    const { commands, meant, handler, text } = details.get(`${use.place} ${use.object}`) ?? {
      commands: [...written, ...(maintained ? (['ANALYZE'] as const) : [])],
      meant: null,
      handler: null,
      text: null,
    }
    if (use.reading) return [{ ...use, commands, meant: null }]
    const hidden = byOid.get(use.oid)?.hidden.map(({ name }) => name) ?? []
    const raw = commands.filter((command) => command !== 'INSERT')
    return text === null || handler !== use.id || usesRow(text, hidden)
      ? [{ ...use, commands: raw, meant }]
      : []
  })
}

/** False where a trigger in PL/pgSQL uses columns of the row that have no mask, and returns the row, and nothing else of it. */
function usesRow(text: string, hidden: readonly string[]): boolean {
  const rest = text
    .replace(/\breturn\s+(new|old)\s*;/gi, '')
    .replace(/\b(?:new|old)\s*\.\s*([a-z_][a-z0-9_]*)(?![\w$]|[^\0-\x7f])/giu, (found, name: string) =>
      hidden.some((column) => column.toLowerCase() === name.toLowerCase()) ? found : '',
    )
  return /\b(new|old)\b|\bu&"/i.test(rest)
}

async function addCallers(scene: Scene, uses: readonly KnownUse[]): Promise<RawUse[]> {
  const { byOid, book } = scene
  const wanting = (command: Command) => uses.filter(({ commands }) => commands.includes(command))
  const roles = new Map<KnownUse, string[]>(uses.map((use) => [use, []]))
  for (const command of ['INSERT', 'UPDATE', 'DELETE'] as const) {
    const byRelation = [...Map.groupBy(wanting(command), ({ oid }) => oid)]
    // Whichever column the role writes, checks, triggers and the like get the whole row.
    const written = byRelation.map(([oid, [first]]) => {
      const columns =
        byOid.get(oid)?.columns ?? (first?.reading ?? []).map((number) => ({ number, name: '' }))
      return { oid, kind: `${oid}`, columns, others: columns }
    })
    for (const [at, row] of (await addWriters(scene, written, [command])).entries())
      for (const use of byRelation[at]?.[1] ?? []) roles.get(use)?.push(...row.roles)
  }
  const reading = wanting('SELECT')
  const readers = await readReaders(scene, [...new Set(reading.map(({ oid }) => oid))])
  for (const use of reading) roles.get(use)?.push(...readers(use))
  const analyzing = wanting('ANALYZE')
  const owner = analyzing.length > 0 ? await readDatabaseOwner(scene) : ''
  for (const use of analyzing) roles.get(use)?.push(...book.watchedBehind(owner))
  return uses.map((use) => ({
    ...use,
    roles: [...new Set(roles.get(use))].filter(
      (role) =>
        !book.roles.get(role)?.superuser &&
        !book.reaches(role, use.keeper) &&
        (use.meant?.some((other) => book.reaches(role, other)) ?? true),
    ),
  }))
}

/**
 * Tells the masked roles that may read something of a relation: itself, by a view over it, such as its twin, or by a row policy that reads it.
 * What a policy reads of another relation takes the rights of the reader, unless that is the owner of a view.
 */
async function readReaders(
  scene: Scene,
  oids: readonly number[],
): Promise<(use: KnownUse) => readonly string[]> {
  if (oids.length === 0) return () => []
  const { sql } = scene
  const rows = await sql<{ oid: number; isViewed: boolean; acl: readonly AclEntry[] }[]>`
    with recursive above as (
      select o as oid, o as via, false as viewed from unnest(${oids}::int8[]::oid[]) o
      union
      select a.oid, next.via, a.viewed or next.viewed from above a cross join lateral (
        select w.ev_class as via, not exists (select 1 from pg_catalog.pg_options_to_table(v.reloptions)
            where option_name = 'security_invoker' and option_value::boolean) as viewed
        from pg_catalog.pg_depend d join pg_catalog.pg_rewrite w on w.oid = d.objid and w.rulename = '_RETURN'
        join pg_catalog.pg_class v on v.oid = w.ev_class
        where d.refclassid = 'pg_catalog.pg_class'::regclass and d.refobjid = a.via and d.classid = 'pg_catalog.pg_rewrite'::regclass
        union all
        select p.polrelid, false from pg_catalog.pg_depend d join pg_catalog.pg_policy p on p.oid = d.objid and p.polrelid <> a.via
        where d.refclassid = 'pg_catalog.pg_class'::regclass and d.refobjid = a.via and d.classid = 'pg_catalog.pg_policy'::regclass
      ) next
    )
    select a.oid::int8 as oid, a.viewed as "isViewed",
      ${writerEntries(sql, sql`array(select k.attnum from pg_catalog.pg_attribute k where k.attrelid = c.oid)`, ['SELECT'])} as acl
    from above a join pg_catalog.pg_class c on c.oid = a.via and c.relkind <> 'm'`
  const byRelation = Map.groupBy(rows, ({ oid }) => oid)
  return ({ oid, keeper, reading }) => {
    const counting = (byRelation.get(oid) ?? []).filter(({ isViewed }) => isViewed || !reading)
    const acl = counting.flatMap((row) => row.acl)
    return findMaskedGrantees(scene, acl, keeper)?.roles ?? []
  }
}

async function readDatabaseOwner({ sql }: Scene): Promise<string> {
  const [database] = await sql<{ owner: string }[]>`
    select o.rolname::text as owner from pg_catalog.pg_database d join pg_catalog.pg_roles o on o.oid = d.datdba
    where d.datname = pg_catalog.current_database()`
  return database?.owner ?? ''
}
