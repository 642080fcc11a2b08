import { quoteIdentifier } from '../../db/quote.ts'
import type { Sql } from '../../db/sql.ts'
import { kind } from './exposure.ts'
import { ownPath } from './routines.ts'
import { listReaders, type MaskedRelation, type Scene } from './scene.ts'

/**
 * Names in a body in text are looked up when it runs, by the session's search path unless the function sets its own. A
 * masked role that chooses the path, or may create objects in a schema of it, chooses the functions, operators, types
 * and tables.
 */
export const searchPath = kind<{ routines: readonly LoosePath[]; roles: readonly string[] }>({
  code: 'RoutineSearchPath',
  severity: 'high',
  meaning: 'a function runs with raw values, and finds names by a path where masked roles have objects',
  async read(scene) {
    const routines = await judgePaths(scene, [...listDefiners(scene), ...(await readUses(scene))])
    // One for all of them: there may be thousands.
    return routines.length === 0 ? [] : [{ routines, roles: scene.watched }]
  },
  describe: ({ routines }) => ({
    objects: routines.map(({ signature: name }) => ({ kind: 'routine', name })),
    explanation: [
      'With the rights of a role that sees raw values, or with raw values of a masked relation that it belongs to,',
      'names in the text are looked up at run time: by the search path of the caller, by one with a schema in which',
      'masked roles may create objects, or, where it does not name pg_temp last, in temporary objects first.',
      'Code of masked roles that is found there gets the same. The remedy sets a path that these roles cannot',
      'change; names in other schemas have to be qualified.',
    ],
    remedy: routines.map(({ remedy }) => remedy).join(';\n'),
  }),
})

interface LoosePath {
  readonly signature: string
  /** The statement that sets another path. */
  readonly remedy: string
}

/** Those that masked roles can have run, and that are text or call text that finds names by the same path. */
function listDefiners(scene: Scene): TextRoutine[] {
  const loose = new Set(scene.routines.filter((one) => one.isText && one.path === null).map(({ id }) => id))
  return scene.routines.filter(
    ({ isDefiner, isText, calls, owner, isFired, grantees }) =>
      isDefiner &&
      (isText || calls.some((id) => loose.has(id))) &&
      (isFired || listReaders(scene, owner, grantees).length > 0),
  )
}

/** A function in text, whose names PostgreSQL looks up when it runs. */
interface TextRoutine {
  readonly signature: string
  readonly schema: string
  /** Its own `search_path`; null where it has the caller's. */
  readonly path: string | null
}

/** The functions whose names lead to objects of masked roles. */
async function judgePaths(scene: Scene, routines: readonly TextRoutine[]): Promise<LoosePath[]> {
  const bySignature = new Map(routines.map((one) => [one.signature, one]))
  const judged = [...bySignature.values()].map(({ signature, schema, path: setting }) => {
    const path = setting === null ? ['$user'] : splitPath(setting)
    const named = path.filter((name) => name !== 'pg_temp' && name !== 'pg_catalog')
    return { signature, path, named, wanted: path.includes('$user') ? [schema, 'public'] : named }
  })
  const { unsafe, isTemporary } = await readPlaces(scene, [
    ...new Set(judged.flatMap(({ wanted }) => wanted)),
  ])
  return judged.flatMap(({ signature, path, named, wanted }) => {
    const safe = [...new Set(wanted)].filter((schema) => !unsafe.includes(schema))
    const next = [...(safe.length === 0 ? ['pg_catalog'] : safe), 'pg_temp'].map(quoteIdentifier)
    const remedy = `ALTER ROUTINE ${signature} SET search_path = ${next.join(', ')}`
    const isLoose =
      path.includes('$user') ||
      named.some((schema) => unsafe.includes(schema)) ||
      (isTemporary && path.at(-1) !== 'pg_temp')
    return isLoose ? [{ signature, remedy }] : []
  })
}

/** Where masked roles may create objects: in which of the schemas, also by creating the schema, and temporary ones. */
async function readPlaces({ sql, makers }: Scene, schemas: readonly string[]) {
  const [row] = await sql<{ unsafe: string[]; isTemporary: boolean }[]>`
    with maker as (select oid from pg_catalog.pg_roles where rolname = any(${makers}::text[]))
    select array(select s from unnest(${schemas}::text[]) s where exists (select from maker m where coalesce(
        has_schema_privilege(m.oid, to_regnamespace(quote_ident(s))::oid, 'CREATE'),
        has_database_privilege(m.oid, current_database(), 'CREATE')))) as unsafe,
      exists (select from maker m where has_database_privilege(m.oid, current_database(), 'TEMP')) as "isTemporary"`
  return row ?? { unsafe: [], isTemporary: false }
}

/** As PostgreSQL reads a list of names; an empty name stands for no schema. */
function splitPath(setting: string): string[] {
  const parts = setting.match(/"(?:[^"]|"")*"|[^\s,"]+/g) ?? []
  return parts
    .map((part) => (part.startsWith('"') ? part.slice(1, -1).replaceAll('""', '"') : part.toLowerCase()))
    .filter((name) => name !== '')
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

/**
 * Functions in text that PostgreSQL calls with raw values in the session of the role that reads or writes: of what
 * belongs to masked relations, through operators, types and other functions.
 */
async function readUses({ sql, version, masked, hidden, byOid }: Scene): Promise<TextRoutine[]> {
  const oids = masked.filter(({ kind: own }) => own !== 'view').map(({ oid }) => oid)
  const classes = (names: string) => names.split(' ').map((name) => `pg_catalog.pg_${name}`)
  // `text`: of the function of a trigger in PL/pgSQL, unless it has tables of rows.
  const used = await sql<(TextRoutine & { oid: number; text: string | null })[]>`
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
  return used.filter(({ oid, text }) => usesRow(text, byOid.get(oid)))
}
