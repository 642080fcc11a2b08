import { quoteIdentifier } from '../../db/quote.ts'
import { type Definer, readDefiners } from './definers.ts'
import { kind, type NamedObject, type Scene } from './exposure.ts'
import { describeParts } from './parts.ts'
import { listMakers } from './seers.ts'

/** An object of a masked role. */
interface Made {
  /** Of the name that a function has for it: its own, or that of a table above it. */
  readonly schema: string
  readonly bareName: string
  readonly name: string
  /** The table above it that is named instead; null where it is named itself. */
  readonly above: string | null
  readonly kind: string
  readonly maker: string
}

interface Found {
  /** One, or all that a role has below one table. */
  readonly parts: readonly Made[]
  readonly made: Made
  readonly lender: string
  readonly routines: readonly NamedObject[]
  readonly roles: readonly string[]
}

/**
 * A SECURITY DEFINER function runs the functions, views, row policies and triggers of the objects that it names as its own owner. Names in a
 * text are looked up anew, so a table there may become a view. A table stands for its partitions and children. Bare names by the caller's search path are of `DefinerSearchPath`.
 */
export const definerCode = kind<Found>({
  code: 'DefinerCode',
  severity: 'high',
  async read(scene) {
    const definers = await readDefiners(scene)
    if (definers.length === 0) return []
    const found = [...(await readNamed(scene, definers)), ...(await readBound(scene, definers))]
    const groups = Map.groupBy(found, ({ made: { kind, name, above, maker }, definer }) =>
      JSON.stringify(above === null ? [kind, name, definer.owner] : [above, maker, definer.owner, 'below']),
    )
    return [...groups.values()].flatMap((same) => {
      const [first] = same
      if (!first) return []
      const parts = new Map(same.map(({ made }) => [made.name, made]))
      const routines = new Map(same.map(({ definer }) => [definer.id, definer]))
      return {
        made: first.made,
        parts: [...parts.values()],
        lender: first.definer.owner,
        routines: [...routines.values()].map(({ kind, signature }) => ({ kind, name: signature })),
        roles: listMakers(scene, first.made.maker, first.definer.owner),
      }
    })
  },
  describe: ({ made, parts, lender, routines }) => {
    const { objects, words, remedy } = describeParts(parts, lender)
    return {
      objects: [...objects, ...routines],
      explanation: `${routines.length === 1 ? 'The function runs' : 'The functions run'} with the privileges of ${quoteIdentifier(lender)}, whose rights lead to raw values, and masked roles can have ${routines.length === 1 ? 'it' : 'them'} run. The text names ${made.above === null ? '' : `${made.above}, which stands for `}${words}, of the owner ${quoteIdentifier(made.maker)}: that owner chooses ${codeOf(made.kind)}, which then runs as ${quoteIdentifier(lender)}. Look at it before you give another owner.`,
      remedy,
    }
  },
})

const codeOf = (kind: string) =>
  kind === 'routine'
    ? 'its text'
    : kind === 'view'
      ? 'the functions that it calls'
      : 'its row policies, checks, indexes, triggers and defaults'

interface Use {
  readonly made: Made
  readonly definer: Definer
}

/** By the text: qualified names, and bare ones that the function's own search path leads to. */
async function readNamed({ sql, book }: Scene, definers: readonly Definer[]): Promise<Use[]> {
  const named = definers
    .filter(({ text }) => text !== '')
    .map((definer) => ({ definer, ...namesIn(definer.text) }))
  const words = [...new Set(named.flatMap(({ words }) => [...words]))]
  if (words.length === 0) return []
  const rows = await sql<Made[]>`
    with recursive word as materialized (select distinct w as word from unnest(${words}::text[]) w),
    maker as materialized (select oid, rolname::text as name from pg_catalog.pg_roles where rolname = any(${book.ofWatched}::text[])),
    above as (
      select c.oid as made, c.oid as at from pg_catalog.pg_class c join maker m on m.oid = c.relowner
      where c.relkind in ('r', 'p', 'v', 'm', 'f') and c.relpersistence <> 't'
      union
      select a.made, i.inhparent from above a join pg_catalog.pg_inherits i on i.inhrelid = a.at
    )
    select n.nspname::text as schema, t.relname::text as "bareName", c.oid::regclass::text as name, m.name as maker,
      ${relationKind(sql)} as kind, case when t.oid <> c.oid then t.oid::regclass::text end as above
    from above a join pg_catalog.pg_class t on t.oid = a.at join word w on w.word = t.relname::text
    join pg_catalog.pg_namespace n on n.oid = t.relnamespace
    join pg_catalog.pg_class c on c.oid = a.made join maker m on m.oid = c.relowner
    union all
    select n.nspname::text, p.proname::text, p.oid::regprocedure::text, m.name, 'routine', null
    from pg_catalog.pg_proc p join maker m on m.oid = p.proowner join word w on w.word = p.proname::text
    join pg_catalog.pg_namespace n on n.oid = p.pronamespace
    order by 1, 3`
  const byName = Map.groupBy(rows, ({ bareName }) => bareName)
  return named.flatMap(({ definer, words, pairs }) => {
    const path = (definer.path ?? []).map((schema) => (schema === '$user' ? definer.owner : schema))
    return [...words]
      .flatMap((word) => byName.get(word) ?? [])
      .filter(({ schema, bareName }) => pairs.has(`${schema}.${bareName}`) || path.includes(schema))
      .map((made) => ({ made, definer }))
  })
}

/** By what PostgreSQL records of bodies in standard SQL. There a table stays one. */
async function readBound({ sql, book }: Scene, definers: readonly Definer[]): Promise<Use[]> {
  const rows = await sql<(Made & { id: number })[]>`
    with recursive above as (
      select c.oid as made, c.oid as at from pg_catalog.pg_class c
      join pg_catalog.pg_roles m on m.oid = c.relowner and m.rolname = any(${book.ofWatched}::text[])
      where c.relkind in ('r', 'p', 'v', 'f')
      union
      select a.made, i.inhparent from above a join pg_catalog.pg_inherits i on i.inhrelid = a.at
    )
    select d.objid::int8 as id, n.nspname::text as schema, t.relname::text as "bareName", c.oid::regclass::text as name,
      m.rolname::text as maker, ${relationKind(sql)} as kind, case when t.oid <> c.oid then t.oid::regclass::text end as above
    from pg_catalog.pg_depend d join above a on a.at = d.refobjid join pg_catalog.pg_class t on t.oid = a.at
    join pg_catalog.pg_namespace n on n.oid = t.relnamespace
    join pg_catalog.pg_class c on c.oid = a.made join pg_catalog.pg_roles m on m.oid = c.relowner
    where d.classid = 'pg_catalog.pg_proc'::regclass and d.refclassid = 'pg_catalog.pg_class'::regclass
      and d.objid = any(${definers.map(({ id }) => id)}::int8[]::oid[])
    union
    select d.objid::int8, n.nspname::text, p.proname::text, p.oid::regprocedure::text, m.rolname::text, 'routine', null
    from pg_catalog.pg_depend d join pg_catalog.pg_proc p on p.oid = d.refobjid
    join pg_catalog.pg_namespace n on n.oid = p.pronamespace join pg_catalog.pg_roles m on m.oid = p.proowner
    where d.classid = 'pg_catalog.pg_proc'::regclass and d.refclassid = 'pg_catalog.pg_proc'::regclass
      and d.objid = any(${definers.map(({ id }) => id)}::int8[]::oid[]) and m.rolname = any(${book.ofWatched}::text[])
    order by 2, 4`
  const byId = new Map(definers.map((definer) => [definer.id, definer]))
  return rows.flatMap(({ id, ...made }) => {
    const definer = byId.get(id)
    return definer ? [{ made, definer }] : []
  })
}

const relationKind = (
  sql: Scene['sql'],
) => sql`case c.relkind when 'v' then 'view' when 'm' then 'materialized view'
  when 'f' then 'foreign table' else 'table' end`

/** Every word that could be a name, and those that follow another and a dot. */
function namesIn(text: string): { readonly words: ReadonlySet<string>; readonly pairs: ReadonlySet<string> } {
  const words = new Set<string>()
  const pairs = new Set<string>()
  let before: string | undefined
  let isDotted = false
  for (const [part, dot] of text.matchAll(/"(?:[^"]|"")+"|[\p{L}_][\p{L}\p{N}_$]*|(\.)|\S/gu)) {
    if (dot !== undefined) {
      isDotted = true
      continue
    }
    const isName = part !== '"' && /^["\p{L}_]/u.test(part)
    const name = part.startsWith('"') ? part.slice(1, -1).replaceAll('""', '"') : part.toLowerCase()
    if (isName) words.add(name)
    if (isName && isDotted && before !== undefined) pairs.add(`${before}.${name}`)
    before = isName ? name : undefined
    isDotted = false
  }
  return { words, pairs }
}
