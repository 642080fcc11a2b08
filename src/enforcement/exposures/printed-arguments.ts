import { quoteQualified } from '../../db/quote.ts'
import { selectGuard } from '../guard/find-guard.ts'
import { kind, type NamedObject, type Scene } from './exposure.ts'
import { type RawUse, readRawUses } from './raw-uses.ts'
import { treeText } from './stored-trees.ts'

interface Found {
  readonly routines: readonly NamedObject[]
  readonly relations: readonly NamedObject[]
  readonly columns: readonly string[]
  readonly places: readonly string[]
  readonly remedies: readonly string[]
  readonly roles: readonly string[]
}

/**
 * A session may have the plans of all queries printed to itself, also of those that a function runs: PostgreSQL plans these for the values of
 * the arguments. What else a function prints is up to settings of the session as well.
 */
export const printedArgument = kind<Found>({
  code: 'PrintedArgument',
  severity: 'high',
  async read(scene) {
    const uses = (await readRawUses(scene, isAsked(scene))).filter(({ roles }) => roles.length > 0)
    const routines = await readRoutines(scene, uses)
    const found = [...Map.groupBy(uses, ({ id }) => id)].flatMap(([id, same]): Found[] => {
      const remedies = judge(routines.get(id))
      if (remedies.length === 0) return []
      const relations = new Map(same.map((use) => [use.oid, nameOf(use)]))
      return [
        {
          routines: [{ kind: 'routine', name: same[0]?.routine ?? '' }],
          relations: [...relations.values()],
          columns: unique(same, ({ column }) => [column]),
          places: unique(same, ({ place }) => [place]),
          remedies,
          roles: unique(same, ({ roles }) => roles).sort(),
        },
      ]
    })
    // One for all functions of the same tables: there may be thousands.
    const groups = Map.groupBy(found, ({ relations, roles }) => JSON.stringify([relations, roles]))
    return [...groups.values()].map((same) => ({
      ...(same[0] as Found),
      routines: same.flatMap(({ routines }) => routines),
      columns: unique(same, ({ columns }) => columns),
      places: unique(same, ({ places }) => places),
      remedies: same.flatMap(({ remedies }) => remedies),
    }))
  },
  describe: ({ routines, relations, columns, places, remedies }) => ({
    objects: [...routines, ...relations],
    explanation: `PostgreSQL calls ${routines.length === 1 ? 'the function' : 'these functions'} with raw values of ${columns.join(', ')} (${places.join(', ')}) when these roles read or write. A session that sets debug_print_plan and client_min_messages = log is shown the plans of the queries in it, with the values; client_min_messages alone shows what it raises for debugging, and plpgsql.print_strict_params the values in errors of INTO STRICT. The remedy sets these for the time of the call.`,
    remedy: remedies.join(';\n'),
  }),
})

const unique = <One, Value>(all: readonly One[], of: (one: One) => readonly Value[]) => [
  ...new Set(all.flatMap(of)),
]

const nameOf = ({ kind, schema, name }: RawUse): NamedObject => ({ kind, name: quoteQualified(schema, name) })

/** Since 18 functions in SQL have their queries planned for the values too, unless they become a part of the calling one. */
function isAsked({ sql, version }: Scene) {
  return sql`l.lanname not in ('c', 'internal') and f.prokind <> 'a' and (${version >= 180000} or l.lanname <> 'sql')
    and f.pronamespace not in (select oid from pg_catalog.pg_namespace where nspname ~ '^(pg_|information_schema$)')
    and f.pronamespace is distinct from (select oid from (${selectGuard(sql)}) g)`
}

interface Routine {
  readonly id: number
  readonly signature: string
  readonly language: string
  /** Null: it is too long to be judged. */
  readonly text: string | null
  /** A body in standard SQL that reads or writes relations, or has more statements than one. */
  readonly hasQueries: boolean
  readonly isDefiner: boolean
  /** `name=value`. */
  readonly settings: readonly string[]
}

/** In characters: a longer text counts as one that prints. */
const mostText = 20_000

async function readRoutines({ sql, version }: Scene, uses: readonly RawUse[]) {
  if (uses.length === 0) return new Map<number, Routine>()
  const body = treeText(sql, sql`p.prosqlbody`)
  // One query that reads no relation: PostgreSQL puts its expression into the calling query.
  const hasQueries = sql`coalesce(p.prosqlbody is not null
    and (${body} like '%{QUERY %{QUERY %' or pg_catalog.strpos(${body}, ':fromlist <> :quals <>') = 0), true)`
  const rows = await sql<Routine[]>`
    select p.oid::int8 as id, p.oid::regprocedure::text as signature, l.lanname::text as language,
      case when pg_catalog.length(p.prosrc) <= ${mostText} then p.prosrc end as text, ${version >= 140000 ? hasQueries : sql`false`} as "hasQueries",
      p.prosecdef as "isDefiner", coalesce(p.proconfig, '{}') as settings
    from pg_catalog.pg_proc p join pg_catalog.pg_language l on l.oid = p.prolang
    where p.oid = any(${[...new Set(uses.map(({ id }) => id))]}::int8[]::oid[])`
  return new Map(rows.map((row) => [row.id, row]))
}

/** The statements that keep it from printing its arguments; none where it prints none. */
function judge(routine: Routine | undefined): string[] {
  if (!routine) return []
  const { signature, settings } = routine
  const isSet = (setting: RegExp) => settings.some((one) => setting.test(one))
  const wanted = [
    ...(isPrinted(routine) && !isSet(/^client_min_messages=(error|fatal|panic)$/i)
      ? ['client_min_messages = error']
      : []),
    ...(isStrict(routine) && !isSet(/^plpgsql\.print_strict_params=(off|false|no|0)$/i)
      ? ['plpgsql.print_strict_params = off']
      : []),
  ]
  return wanted.map((setting) => `ALTER ROUTINE ${signature} SET ${setting}`)
}

const isStrict = ({ language, text }: Routine) =>
  language === 'plpgsql' && (text === null || /\bstrict\b/i.test(text))

/** An expression without any of these is evaluated without a plan of its own. */
const planned =
  /\b(select|perform|insert|update|delete|merge|execute|call|values|table|with|from|raise\s+(debug|log|info|notice|warning)|\w*agg|max|min|sum|avg|count|every|bool_(and|or)|unnest|generate_\w+|regexp_matches|\w+_to_table|jsonb?_\w+)\b|u&"/i

function isPrinted({ language, text, hasQueries, isDefiner, settings }: Routine): boolean {
  if (text === null) return true
  // Texts of TG_OP are no statements.
  if (language === 'plpgsql') return planned.test(text.replaceAll(/'(insert|update|delete)'/gi, ''))
  if (language !== 'sql') return true
  return isDefiner || settings.length > 0 || hasQueries || planned.test(text.replace(/^\s*select\b/i, ''))
}
