import { quoteQualified } from '../../db/quote.ts'
import { selectGuard } from '../guard/find-guard.ts'
import { findMaskedGrantees, writerEntries } from './acl-entries.ts'
import { splitPath } from './definers.ts'
import { type AclEntry, kind, type NamedObject, type Scene } from './exposure.ts'
import { findHidden, type RoutineUse, readRangeUses, readRoutineUses } from './routine-uses.ts'
import { type JudgedPath, judgePath, type PathReason, pathReasons, readCreators } from './search-paths.ts'
import { listSeers } from './seers.ts'
import { addWriters } from './writers.ts'

interface Found {
  readonly reason: PathReason
  readonly routines: readonly NamedObject[]
  readonly columns: readonly string[]
  readonly places: readonly string[]
  readonly relations: readonly NamedObject[]
  readonly remedies: readonly string[]
  readonly roles: readonly string[]
}

/**
 * PostgreSQL calls functions of a masked table with raw values in the session of the role that reads or writes. Names in a text are then
 * looked up by the search path of that session, which leads to a function, operator, type or table of that role: it gets the raw value.
 */
export const routineSearchPath = kind<Found>({
  code: 'RoutineSearchPath',
  severity: 'high',
  async read(scene) {
    const uses = await readTextUses(scene)
    if (uses.length === 0) return []
    const called = await addCallers(scene, await keepRaw(scene, uses))
    const creators = await readCreators(scene)
    const routines = new Map((await readRoutines(scene, called)).map((one) => [one.id, one]))
    const judged = called.flatMap((use) => {
      const routine = routines.get(use.id)
      const found =
        routine && judgePath(scene, { ...routine, owner: use.owner, callers: use.roles }, creators)
      return found && found.roles.length > 0 ? [{ ...use, ...found }] : []
    })
    const byRoutine = Map.groupBy(judged, ({ id, reason }) => `${id} ${reason}`)
    const found = [...byRoutine.values()].map(summarize)
    // One for all functions of the same tables: there may be thousands.
    const groups = Map.groupBy(found, ({ reason, relations, roles }) =>
      JSON.stringify([reason, relations, roles]),
    )
    return [...groups.values()].map((same) => ({
      ...(same[0] as Found),
      routines: same.flatMap(({ routines }) => routines),
      columns: [...new Set(same.flatMap(({ columns }) => columns))],
      places: [...new Set(same.flatMap(({ places }) => places))],
      remedies: same.flatMap(({ remedies }) => remedies),
    }))
  },
  describe: ({ reason, routines, columns, places, relations, remedies }) => ({
    severity: reason === 'temporary' ? 'medium' : 'high',
    objects: [...routines, ...relations],
    explanation: `PostgreSQL calls ${routines.length === 1 ? 'the function' : 'these functions'} with raw values of ${columns.join(', ')} (${places.join(', ')}) when these roles read or write, and looks names in the text up at run time: ${pathReasons[reason]} What it finds there gets the raw value. The remedy sets a path that these roles cannot change; names in other schemas have to be qualified. A body in standard SQL (BEGIN ATOMIC) has no such names.`,
    remedy: remedies.join(';\n'),
  }),
})

type Judged = Use & JudgedPath

/** Of the uses of one function. */
function summarize(uses: readonly Judged[]): Found {
  const { reason, routine, remedy } = uses[0] as Judged
  const relations = new Map(
    uses.map(({ oid, kind, schema, name }) => [oid, { kind, name: quoteQualified(schema, name) }]),
  )
  return {
    reason,
    routines: [{ kind: 'routine', name: routine }],
    columns: [...new Set(uses.map(({ column }) => column))],
    places: [...new Set(uses.map(({ place }) => place))],
    relations: [...relations.values()],
    remedies: [remedy],
    roles: [...new Set(uses.flatMap(({ roles }) => roles))].sort(),
  }
}

type Use = RoutineUse & { readonly column: string }

/** Uses of functions in text that get a hidden column. SECURITY DEFINER functions of roles that see raw values are of `DefinerSearchPath`. */
async function readTextUses(scene: Scene): Promise<Use[]> {
  const { sql, version } = scene
  const seers = listSeers(scene)
  const isText = sql`l.lanname not in ('c', 'internal') and f.prokind <> 'a'
    and (not f.prosecdef or o.rolname <> all(${seers}::text[]))
    and f.pronamespace not in (select oid from pg_catalog.pg_namespace where nspname ~ '^(pg_|information_schema$)')
    and f.pronamespace is distinct from (select oid from (${selectGuard(sql)}) g)
    ${version >= 140000 ? sql`and f.prosqlbody is null` : sql``}`
  const uses = [
    ...(await readRoutineUses(scene, isText, sql`t.oid = any(${scene.oids}::oid[])`)),
    ...(await readRangeUses(scene, seers, isText)).filter(({ place }) => place === 'column of ranges'),
  ]
  return uses.flatMap((use) => {
    const column = findHidden(scene, use)
    return column === undefined ? [] : [{ ...use, column }]
  })
}

type Command = 'SELECT' | 'UPDATE' | 'DELETE' | 'ANALYZE'

interface RawUse extends Use {
  /** Those by which PostgreSQL calls it with values that the role did not write. */
  readonly commands: readonly Command[]
  /** The roles that a row policy is for; null where it is for all. */
  readonly meant: readonly string[] | null
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

/** All values of a new row are the writer's own, so INSERT does not count. */
async function keepRaw(scene: Scene, uses: readonly Use[]): Promise<RawUse[]> {
  const { sql, byOid, version } = scene
  const objects = uses.map(({ object }) => object)
  const rows = await sql<Details[]>`
    select 'row policy' as place, p.oid::int8 as object, null::int8 as handler, null as text,
      case when not c.relrowsecurity then '{}' else case p.polcmd when 'r' then '{SELECT}' when 'w' then '{UPDATE}' when 'd' then '{DELETE}'
        when '*' then '{SELECT,UPDATE,DELETE}' else '{}' end end::text[] as commands,
      case when not 0 = any(p.polroles) then array(select rolname::text from pg_catalog.pg_roles where oid = any(p.polroles)) end as meant
    from pg_catalog.pg_policy p join pg_catalog.pg_class c on c.oid = p.polrelid where p.oid = any(${objects}::int8[]::oid[])
    union all
    select 'trigger', g.oid::int8, g.tgfoid::int8, case when l.lanname = 'plpgsql' and pg_catalog.length(p.prosrc) <= ${mostText}
        and g.tgoldtable is null and g.tgnewtable is null then p.prosrc end,
      array(select x.command from (values (16, 'UPDATE'), (8, 'DELETE')) x(bit, command) where (g.tgtype & x.bit) > 0), null
    from pg_catalog.pg_trigger g join pg_catalog.pg_proc p on p.oid = g.tgfoid join pg_catalog.pg_language l on l.oid = p.prolang
    where g.oid = any(${objects}::int8[]::oid[])
    union all
    select 'rule', w.oid::int8, null, null, case w.ev_type when '2' then '{UPDATE}' when '4' then '{DELETE}' else '{}' end::text[], null
    from pg_catalog.pg_rewrite w where w.oid = any(${objects}::int8[]::oid[])`
  // Oids are unique in one catalog alone.
  const details = new Map(rows.map((row) => [`${row.place} ${row.object}`, row]))
  return uses.flatMap((use): RawUse[] => {
    // Since 17 the server sets a search path of its own when it maintains a table.
    const maintained = version < 170000 && /^(index|statistics object|column of ranges)$/.test(use.place)
    const written = use.place === 'statistics object' ? [] : (['UPDATE'] as const)
    const { commands, meant, handler, text } = details.get(`${use.place} ${use.object}`) ?? {
      commands: [...written, ...(maintained ? (['ANALYZE'] as const) : [])],
      meant: null,
      handler: null,
      text: null,
    }
    const hidden = byOid.get(use.oid)?.hidden.map(({ name }) => name) ?? []
    return text === null || handler !== use.id || usesRow(text, hidden) ? [{ ...use, commands, meant }] : []
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

/** Adds the masked roles by whose statements PostgreSQL calls the function. */
async function addCallers(scene: Scene, uses: readonly RawUse[]) {
  const { byOid, book } = scene
  const wanting = (command: Command) => uses.filter(({ commands }) => commands.includes(command))
  const roles = new Map<RawUse, string[]>(uses.map((use) => [use, []]))
  for (const command of ['UPDATE', 'DELETE'] as const) {
    const byRelation = [...Map.groupBy(wanting(command), ({ oid }) => oid)]
    // Whichever column the role writes, checks, triggers and the like get the whole row.
    const written = byRelation.map(([oid]) => {
      const columns = byOid.get(oid)?.columns ?? []
      return { oid, kind: `${oid}`, columns, others: columns }
    })
    for (const [at, row] of (await addWriters(scene, written, [command])).entries())
      for (const use of byRelation[at]?.[1] ?? []) roles.get(use)?.push(...row.roles)
  }
  const reading = wanting('SELECT')
  const readers = await readReaders(scene, [...new Set(reading.map(({ oid }) => oid))])
  for (const use of reading) roles.get(use)?.push(...(readers.get(use.oid) ?? []))
  const analyzing = wanting('ANALYZE')
  const owner = analyzing.length > 0 ? await readDatabaseOwner(scene) : ''
  for (const use of analyzing)
    roles
      .get(use)
      ?.push(
        ...book
          .watchedBehind(owner)
          .filter((role) => !book.roles.get(role)?.superuser && !book.reaches(role, use.owner)),
      )
  return uses.map((use) => ({
    ...use,
    roles: [...new Set(roles.get(use))].filter(
      (role) => use.meant?.some((other) => book.reaches(role, other)) ?? true,
    ),
  }))
}

/** The masked roles that may read something of each relation, itself or by a view over it, such as its twin. */
async function readReaders(scene: Scene, oids: readonly number[]): Promise<ReadonlyMap<number, string[]>> {
  if (oids.length === 0) return new Map()
  const { sql, byOid } = scene
  const rows = await sql<{ oid: number; acl: readonly AclEntry[] }[]>`
    with recursive above as (
      select o as oid, o as via from unnest(${oids}::int8[]::oid[]) o
      union
      select a.oid, w.ev_class from above a join pg_catalog.pg_depend d
        on d.refclassid = 'pg_catalog.pg_class'::regclass and d.refobjid = a.via and d.classid = 'pg_catalog.pg_rewrite'::regclass
      join pg_catalog.pg_rewrite w on w.oid = d.objid and w.rulename = '_RETURN'
    )
    select a.oid::int8 as oid, ${writerEntries(sql, sql`array(select k.attnum from pg_catalog.pg_attribute k where k.attrelid = c.oid)`, ['SELECT'])} as acl
    from above a join pg_catalog.pg_class c on c.oid = a.via and c.relkind <> 'm'`
  const byRelation = Map.groupBy(rows, ({ oid }) => oid)
  return new Map(
    [...byRelation].map(([oid, same]) => [
      oid,
      findMaskedGrantees(
        scene,
        same.flatMap(({ acl }) => acl),
        byOid.get(oid)?.owner ?? '',
      )?.roles.slice() ?? [],
    ]),
  )
}

async function readDatabaseOwner({ sql }: Scene): Promise<string> {
  const [database] = await sql<{ owner: string }[]>`
    select o.rolname::text as owner from pg_catalog.pg_database d join pg_catalog.pg_roles o on o.oid = d.datdba
    where d.datname = pg_catalog.current_database()`
  return database?.owner ?? ''
}

async function readRoutines({ sql }: Scene, uses: readonly Use[]) {
  const rows = await sql<
    {
      id: number
      signature: string
      schema: string
      maker: string
      setting: string | null
      isDefiner: boolean
    }[]
  >`
    select p.oid::int8 as id, p.oid::regprocedure::text as signature, n.nspname::text as schema, p.prosecdef as "isDefiner",
      o.rolname::text as maker, (select pg_catalog.substr(s, 13) from unnest(p.proconfig) s where s like 'search\\_path=%') as setting
    from pg_catalog.pg_proc p join pg_catalog.pg_namespace n on n.oid = p.pronamespace join pg_catalog.pg_roles o on o.oid = p.proowner
    where p.oid = any(${uses.map(({ id }) => id)}::int8[]::oid[])`
  return rows.map(({ setting, isDefiner, maker, ...row }) => {
    const path = setting === null ? null : splitPath(setting)
    // `$user` is the schema of the role that runs it: of the caller, unless it is SECURITY DEFINER.
    if (!isDefiner) return { ...row, path: path?.includes('$user') ? null : path }
    return { ...row, path: path?.map((name) => (name === '$user' ? maker : name)) ?? null }
  })
}
