import { quoteQualified } from '../../db/quote.ts'
import { selectGuard } from '../guard/find-guard.ts'
import { splitPath } from './definers.ts'
import { kind, type NamedObject, type Scene } from './exposure.ts'
import { type RawUse, readRawUses } from './raw-uses.ts'
import { type JudgedPath, judgePath, type PathReason, pathReasons, readCreators } from './search-paths.ts'
import { listSeers } from './seers.ts'

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
    const called = await readRawUses(scene, isText(scene))
    if (called.length === 0) return []
    const creators = await readCreators(scene)
    const routines = new Map((await readRoutines(scene, called)).map((one) => [one.id, one]))
    const judged = called.flatMap((use) => {
      const routine = routines.get(use.id)
      const found =
        routine && judgePath(scene, { ...routine, owner: use.keeper, callers: use.roles }, creators)
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

type Judged = RawUse & JudgedPath

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

/** SECURITY DEFINER functions of roles that see raw values are of `DefinerSearchPath`. */
function isText(scene: Scene) {
  const { sql, version } = scene
  return sql`l.lanname not in ('c', 'internal') and f.prokind <> 'a'
    and (not f.prosecdef or o.rolname <> all(${listSeers(scene)}::text[]))
    and f.pronamespace not in (select oid from pg_catalog.pg_namespace where nspname ~ '^(pg_|information_schema$)')
    and f.pronamespace is distinct from (select oid from (${selectGuard(sql)}) g)
    ${version >= 140000 ? sql`and f.prosqlbody is null` : sql``}`
}

async function readRoutines({ sql }: Scene, uses: readonly RawUse[]) {
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
