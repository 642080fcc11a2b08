import type { Query, Row, Sql } from '../../db/sql.ts'
import { selectGuard } from '../../masks/read/guard.ts'

/** A function or procedure with a body in a language. */
export interface Routine {
  readonly id: number
  /** Without quotes, as the text of another function may have it. */
  readonly bareName: string
  readonly schema: string
  readonly owner: string
  readonly kind: 'function' | 'procedure'
  readonly language: string
  /** Its first part, where it is long; empty for a body in standard SQL, and where all texts together are too long. */
  readonly text: string
  readonly isCut: boolean
  /** PostgreSQL looks names in it up when it runs. */
  readonly isText: boolean
  /** Its own `search_path`. */
  readonly path: string | null
  /** Relations and functions that its body depends on; known for bodies in standard SQL. */
  readonly reads: readonly number[]
  readonly calls: readonly number[]
  readonly signature: string
  /** It runs with the rights of a role that sees raw values. */
  readonly isDefiner: boolean
  /** Of EXECUTE on a definer; null: PUBLIC. */
  readonly grantees: readonly (string | null)[]
  /** A trigger, or an event trigger, calls it. */
  readonly isFired: boolean
}

/** Of a body, in bytes: any role that may create functions may write one of a gigabyte. */
const mostText = 100_000
/** Of all bodies together. Those of masked roles come last, so that they displace none of another role. */
const mostTexts = 16_000_000

/** SQL for the names of the schemas of a function's own search path. */
export const ownPath = `(select pg_catalog.substr(s, 13) from unnest(p.proconfig) s where s like 'search\\_path=%')`

/** SQL for the names of the grantees of a privilege; null: PUBLIC. */
export const granteesOf = (sql: Sql, acl: Query<Row[]>, privilege: 'SELECT' | 'EXECUTE') => sql`array(
  select distinct e.rolname::text from pg_catalog.aclexplode(${acl}) x left join pg_catalog.pg_roles e
    on e.oid = x.grantee
  where x.privilege_type = ${privilege} and (x.grantee = 0 or e.oid is not null))`

export async function readRoutines(
  sql: Sql,
  version: number,
  { seers, makers }: { readonly seers: ReadonlySet<string>; readonly makers: readonly string[] },
): Promise<Routine[]> {
  const isText = version >= 140000 ? sql`p.prosqlbody is null` : sql`true`
  const size = sql`pg_catalog.octet_length(p.prosrc)`
  const dependsOn = (catalog: string) => sql`
    array(select distinct d.refobjid::int8 from pg_catalog.pg_depend d
      where d.classid = 'pg_catalog.pg_proc'::regclass and d.objid = p.oid
        and d.refclassid = ${catalog}::regclass)`
  return await sql<Routine[]>`
    select p.oid::int8 as id, p.proname::text as "bareName", p.nspname::text as schema, p.rolname::text as owner,
      case p.prokind when 'p' then 'procedure' else 'function' end as kind, p.lanname::text as language,
      ${isText} as "isText", ${sql.unsafe(ownPath)} as path,
      case when p.is_read then pg_catalog.left(p.prosrc, ${mostText}) else '' end as text,
      not p.is_read or ${size} > ${mostText} as "isCut",
      ${dependsOn('pg_catalog.pg_class')} as reads, ${dependsOn('pg_catalog.pg_proc')} as calls,
      p.oid::regprocedure::text as signature, p.is_definer as "isDefiner", case when p.is_definer then
        ${granteesOf(sql, sql`coalesce(p.proacl, pg_catalog.acldefault('f', p.proowner))`, 'EXECUTE')} end as grantees,
      exists (select from pg_catalog.pg_trigger t where t.tgfoid = p.oid and t.tgenabled <> 'D')
        or exists (select from pg_catalog.pg_event_trigger e where e.evtfoid = p.oid and e.evtenabled <> 'D')
        as "isFired"
    from (
      select p.*, n.nspname, o.rolname, l.lanname, p.prosecdef and o.rolname = any(${[...seers]}::text[]) as is_definer,
        pg_catalog.sum(least(${size}, ${mostText})) over (
          order by o.rolname = any(${makers}::text[]), ${size}, p.oid) <= ${mostTexts} as is_read
      from pg_catalog.pg_proc p join pg_catalog.pg_roles o on o.oid = p.proowner
      join pg_catalog.pg_namespace n on n.oid = p.pronamespace join pg_catalog.pg_language l on l.oid = p.prolang
      where n.nspname !~ '^(pg_|information_schema$)' and l.lanname not in ('c', 'internal')
        and n.oid is distinct from (select oid from (${selectGuard(sql)}) g) and p.prokind in ('f', 'p')
    ) p order by p.proname, p.oid`
}

interface Read {
  readonly masked: readonly { readonly oid: number; readonly bareName: string; readonly name: string }[]
  readonly routines: readonly Routine[]
}

/** The routines that read a masked relation, themselves or through one that they call, each with its name. */
export function readersOf({ masked, routines }: Read): ReadonlyMap<number, string> {
  const found = new Map<number, string>()
  const nameOf = new Map(masked.map(({ oid, name }) => [oid, name]))
  const relations = new Map(masked.map(({ bareName, name }) => [bareName.toLowerCase(), name]))
  const wordsOf = new Map(routines.map(({ id, text }) => [id, identifiersIn(text)]))
  const mentioned = (id: number, names: ReadonlyMap<string, string>) =>
    [...names].find(([word]) => wordsOf.get(id)?.has(word))?.[1]
  for (const { id, reads } of routines) {
    const known = reads.map((oid) => nameOf.get(oid)).find((name) => name !== undefined)
    const name = known ?? mentioned(id, relations)
    if (name !== undefined) found.set(id, name)
  }
  for (let size = -1; size < found.size; ) {
    size = found.size
    const readers = routines.filter(({ id }) => found.has(id))
    const through = new Map(
      readers.map(({ id, bareName }) => [bareName.toLowerCase(), `${found.get(id)} through ${bareName}()`]),
    )
    for (const { id, calls } of routines.filter((one) => !found.has(one.id))) {
      const called = readers.find((one) => calls.includes(one.id))?.bareName.toLowerCase()
      const name = called === undefined ? mentioned(id, through) : through.get(called)
      if (name !== undefined) found.set(id, name)
    }
  }
  return found
}

/** Every word that could be a name, so that no way of writing it hides one. */
function identifiersIn(text: string): ReadonlySet<string> {
  const words = text.toLowerCase().match(/"(?:[^"]|"")+"|[\p{L}_][\p{L}\p{N}_$]*/gu) ?? []
  return new Set(words.map((word) => (word.startsWith('"') ? word.slice(1, -1).replaceAll('""', '"') : word)))
}
