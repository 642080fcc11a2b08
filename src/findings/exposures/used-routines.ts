import type { Sql } from '../../db/sql.ts'
import type { MaskedRelation, Scene } from './exposure.ts'
import { ownPath } from './routines.ts'
import type { TextRoutine } from './search-paths.ts'

interface UsedRoutine extends TextRoutine {
  readonly oid: number
  /** The function of a trigger in PL/pgSQL, unless it has tables of rows. */
  readonly text: string | null
}

/**
 * Functions in text that PostgreSQL calls with raw values in the session of the role that reads or writes: of what
 * belongs to masked relations, through operators, types and other functions.
 */
export async function readUses(scene: Scene): Promise<TextRoutine[]> {
  const used = await readUsed(scene)
  return used.filter(({ oid, text }) => usesRow(text, scene.byOid.get(oid)))
}

/**
 * False where a trigger's function uses columns of the row that have no mask, or returns it, and nothing else of the
 * row.
 */
export function usesRow(text: string | null, relation: MaskedRelation | undefined): boolean {
  if (text === null) return true
  const hidden = new Set(relation?.hidden.map(({ name }) => name.toLowerCase()))
  const rest = text
    .replace(/\breturn\s+(new|old)\s*;/gi, '')
    .replace(/\b(?:new|old)\s*\.\s*([a-z_][a-z0-9_]*)(?![\w$]|[^\0-\x7f])/giu, (found, name: string) =>
      hidden.has(name.toLowerCase()) ? found : '',
    )
  return /\b(new|old)\b|\bu&"/i.test(rest)
}

/** Of a trigger's function, in characters: a longer one counts as one that uses the row. */
const mostText = 20_000

/** SQL for the text of the function `p` of a trigger, where it is in the language `l` PL/pgSQL. */
export function triggerText(sql: Sql) {
  return sql`case when l.lanname = 'plpgsql' and pg_catalog.length(p.prosrc) <= ${mostText} then p.prosrc end`
}

async function readUsed({ sql, version, masked, hidden }: Scene): Promise<UsedRoutine[]> {
  const oids = masked.filter(({ holdsData }) => holdsData).map(({ oid }) => oid)
  const classes = (names: string) => names.split(' ').map((name) => `pg_catalog.pg_${name}`)
  return await sql<UsedRoutine[]>`
    with recursive hidden as materialized (
      select relation, number from unnest(${hidden.oids}::oid[], ${hidden.numbers}::int4[]) h(relation, number)
    ), part as (
      -- Parts of masked relations, unless they name other columns alone. All of a new row is the writer's own.
      select d.refobjid as oid, d.classid, d.objid from pg_catalog.pg_depend d
      left join hidden h on h.relation = d.refobjid and h.number = d.refobjsubid
      left join pg_catalog.pg_trigger g on d.classid = 'pg_catalog.pg_trigger'::regclass and g.oid = d.objid
      where d.refclassid = 'pg_catalog.pg_class'::regclass and d.refobjid = any(${oids}::oid[])
        and d.classid = any(${classes('policy constraint class attrdef rewrite trigger')}::regclass[]::oid[])
        and (g.oid is null or (g.tgtype & 24) > 0 and g.tgenabled <> 'D')
        and (d.classid <> 'pg_catalog.pg_class'::regclass
          or exists (select from pg_catalog.pg_index i where i.indexrelid = d.objid))
        and (d.classid <> 'pg_catalog.pg_attrdef'::regclass or exists (
          select from pg_catalog.pg_attrdef e join pg_catalog.pg_attribute a on a.attrelid = e.adrelid
            and a.attnum = e.adnum and a.attgenerated <> '' where e.oid = d.objid))
      group by 1, 2, 3
      having pg_catalog.bool_or(d.deptype in ('a', 'i')) and (d.classid = 'pg_catalog.pg_trigger'::regclass
        or pg_catalog.max(d.refobjsubid) = 0 or pg_catalog.bool_or(h.number is not null))
    ), used (oid, part, classid, objid) as (
      select oid, objid, classid, objid from part
      union
      select u.oid, u.part, next.classid, next.objid from used u cross join lateral (
        select d.refclassid as classid, d.refobjid as objid from pg_catalog.pg_depend d
        where d.classid = u.classid and d.objid = u.objid
          and d.refclassid = any(${classes('proc operator type opclass')}::regclass[]::oid[])
        union all
        select 'pg_catalog.pg_constraint'::regclass, k.oid from pg_catalog.pg_constraint k
        where u.classid = 'pg_catalog.pg_type'::regclass and k.contypid = u.objid) next
    )
    select f.oid::int8 as oid, p.oid::regprocedure::text as signature, n.nspname::text as schema,
      ${sql.unsafe(ownPath)} as path,
      case when g.tgfoid = p.oid and g.tgoldtable is null and g.tgnewtable is null then ${triggerText(sql)} end as text
    from (
      select oid, part, objid from used where classid = 'pg_catalog.pg_proc'::regclass
      union
      -- The key of a partitioned table.
      select objid, 0, refobjid from pg_catalog.pg_depend
      where classid = 'pg_catalog.pg_class'::regclass and objid = any(${oids}::oid[])
        and refclassid = 'pg_catalog.pg_proc'::regclass
    ) f join pg_catalog.pg_proc p on p.oid = f.objid and p.prokind <> 'a'
    join pg_catalog.pg_language l on l.oid = p.prolang and l.lanname not in ('c', 'internal')
    join pg_catalog.pg_namespace n on n.oid = p.pronamespace and n.nspname !~ '^(pg_|information_schema$)'
    left join pg_catalog.pg_trigger g on g.oid = f.part
    ${version >= 140000 ? sql`where p.prosqlbody is null` : sql``} order by 2, 1`
}
