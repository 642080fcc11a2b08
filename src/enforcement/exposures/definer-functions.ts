import type { Tx } from '../../db/transaction.ts'
import { selectGuard } from '../guard/find-guard.ts'
import { aclEntries } from './acl-entries.ts'
import { type AclEntry, kind, type Scene } from './exposure.ts'
import { printEach } from './print-each.ts'

interface Routine {
  readonly id: number
  /** Without quotes, as the text of another function may have it. */
  readonly bareName: string
  readonly kind: 'function' | 'procedure'
  readonly language: string
  /** Its first part, where it is long; empty where all texts together are too long, or PostgreSQL cannot print it. */
  readonly text: string
  readonly isCut: boolean
  readonly definer: boolean
  readonly owner: string
  /** Relations that its body depends on; known for bodies in standard SQL. */
  readonly reads: readonly number[]
}

interface Found extends Routine {
  readonly signature: string
  readonly acl: readonly AclEntry[]
  readonly relationName: string | undefined
}

/**
 * SECURITY DEFINER functions run with the rights of their owner. Those that name a masked relation, or call a function
 * that does, are found by what PostgreSQL records of their bodies, or in their text; those that put SQL together when
 * they run could name any.
 */
export const definerFunctions = kind<Found>({
  code: 'SecurityDefinerFunction',
  severity: 'medium',
  async read(scene) {
    const routines = await readRoutines(scene)
    const readers = readersOf(scene, routines)
    const owners = routines.filter(({ definer }) => definer).map(({ owner }) => owner)
    const seeing = await readSeeing(scene, [...new Set(owners)])
    const found = routines
      .filter(({ definer, owner }) => definer && seeing.has(owner))
      .filter((routine) => readers.has(routine.id) || isDynamic(routine))
    return await readCallers(scene, found, readers)
  },
  describe: ({ relationName, signature, owner, grantees, ...routine }) => ({
    severity: relationName ? 'high' : 'medium',
    objects: [{ kind: routine.kind, name: signature }],
    explanation: relationName
      ? `It runs with the privileges of its owner ${owner}, who sees raw values, and reads ${relationName}; its result, or its errors, reach every role that may call it.`
      : `It runs with the privileges of its owner ${owner}, who sees raw values, ${
          routine.isCut
            ? 'and its text cannot be searched for masked relations: it is too long, or PostgreSQL cannot print it now.'
            : 'and makes SQL at run time: the relations that it can be made to read do not show in its text.'
        }`,
    remedy: `REVOKE EXECUTE ON ROUTINE ${signature} FROM ${grantees.list} CASCADE`,
  }),
})

/** Of a body, in bytes: any role that may create functions may write one of a gigabyte. */
const mostText = 100_000
/** Of all bodies together, as the server stores them. */
const mostTexts = 16_000_000

/**
 * The texts of masked roles come last, and longer ones after shorter ones, until there is too much to read: a masked role
 * displaces no text of another role.
 */
export async function readRoutines({
  sql,
  version,
  book,
}: Pick<Scene, 'sql' | 'version' | 'book'>): Promise<Routine[]> {
  const hasTrees = version >= 140000
  const hasTree = hasTrees ? sql`p.prosqlbody is not null` : sql`false`
  const tree = hasTrees ? sql`coalesce(pg_catalog.octet_length(p.prosqlbody::text), 0)` : sql`0`
  const rows = await sql<(Routine & { at: number; hasTree: boolean; isOfWatched: boolean })[]>`
    with measured as materialized (
      select p.oid, o.rolname::text as owner, l.lanname::text as language, o.rolname = any(${book.ofWatched}::text[]) as of_watched,
        pg_catalog.row_number() over sizes as at, pg_catalog.sum(m.size) over sizes <= ${mostTexts} as is_read
      from pg_catalog.pg_proc p
      join pg_catalog.pg_namespace n on n.oid = p.pronamespace join pg_catalog.pg_language l on l.oid = p.prolang
      join pg_catalog.pg_roles o on o.oid = p.proowner
      cross join lateral (select least(pg_catalog.octet_length(p.prosrc), ${mostText}) + ${tree} as size) m
      where n.nspname !~ '^(pg_|information_schema$)'
        and n.oid is distinct from (select oid from (${selectGuard(sql)}) g) and l.lanname not in ('c', 'internal')
        and p.prokind in ('f', 'p')
      window sizes as (order by o.rolname = any(${book.ofWatched}::text[]), m.size, p.oid)
    )
    select p.oid::int8 as id, m.at::int4 as at, m.of_watched as "isOfWatched", m.is_read and ${hasTree} as "hasTree", p.proname::text as "bareName", m.owner, m.language, p.prosecdef as definer,
      case p.prokind when 'p' then 'procedure' else 'function' end as kind,
      coalesce(pg_catalog.left(t.body, ${mostText}), '') as text,
      coalesce(pg_catalog.octet_length(t.body) > ${mostText}, true) as "isCut",
      array(select distinct d.refobjid::int8 from pg_catalog.pg_depend d
        where d.classid = 'pg_catalog.pg_proc'::regclass and d.objid = p.oid
          and d.refclassid = 'pg_catalog.pg_class'::regclass) as reads
    from measured m join pg_catalog.pg_proc p on p.oid = m.oid
    cross join lateral (select case when m.is_read then p.prosrc end as body) t
    order by p.proname, p.oid`
  const trees = rows.filter((row) => row.hasTree).sort((one, other) => one.at - other.at)
  const idsOf = (isOfWatched: boolean) =>
    trees.filter((row) => row.isOfWatched === isOfWatched).map(({ id }) => id)
  const printed = new Map([
    ...(await printBodies(sql, idsOf(false))),
    ...(await printBodies(sql, idsOf(true))),
  ])
  return rows.map(({ at: _, hasTree: isTree, isOfWatched: __, ...routine }) =>
    isTree ? { ...routine, ...(printed.get(routine.id) ?? { text: '', isCut: true }) } : routine,
  )
}

/** Bodies in standard SQL, which PostgreSQL has as trees. */
function printBodies(sql: Tx, ids: readonly number[]) {
  return printEach(
    sql,
    ids,
    (some) => sql<Pick<Routine, 'id' | 'text' | 'isCut'>[]>`
      select p.oid::int8 as id, pg_catalog.left(t.body, ${mostText}) as text, pg_catalog.octet_length(t.body) > ${mostText} as "isCut"
      from unnest(${some}::int8[]::oid[]) p(oid) cross join lateral (select pg_catalog.pg_get_function_sqlbody(p.oid) as body offset 0) t
      where t.body is not null`,
  )
}

/** Adds what is read of findings alone: names of arguments and roles are many times longer than the catalog has them. */
async function readCallers(
  { sql }: Scene,
  found: readonly Routine[],
  readers: ReadonlyMap<number, string>,
): Promise<Found[]> {
  const rows = await sql<Pick<Found, 'id' | 'signature' | 'acl'>[]>`
    select p.oid::int8 as id, p.oid::regprocedure::text as signature,
      ${aclEntries(sql, sql`coalesce(p.proacl, pg_catalog.acldefault('f', p.proowner))`, ['EXECUTE'])} as acl
    from pg_catalog.pg_proc p where p.oid = any(${found.map(({ id }) => id)}::int8[]::oid[]) order by 2`
  const byId = new Map(found.map((routine) => [routine.id, routine]))
  return rows.flatMap((row) => {
    const routine = byId.get(row.id)
    return routine ? [{ ...routine, ...row, relationName: readers.get(row.id) }] : []
  })
}

/** The routines that read a masked relation, themselves or through one that they call, each with its name. */
export function readersOf(
  { masked, byOid }: Pick<Scene, 'masked' | 'byOid'>,
  routines: readonly Routine[],
): ReadonlyMap<number, string> {
  const found = new Map<number, string>()
  const words = new Map(masked.map(({ bareName, name }) => [bareName.toLowerCase(), name]))
  const wordsOf = new Map(routines.map(({ id, text }) => [id, identifiersIn(text)]))
  for (const { id, reads } of routines) {
    const known = reads.map((relation) => byOid.get(relation)?.name).find((name) => name !== undefined)
    const mentioned = [...words].find(([word]) => wordsOf.get(id)?.has(word))?.[1]
    const name = known ?? mentioned
    if (name !== undefined) found.set(id, name)
  }
  for (let grew = true; grew; ) {
    grew = false
    const callable = new Map(
      routines.filter(({ id }) => found.has(id)).map(({ id, bareName }) => [bareName.toLowerCase(), id]),
    )
    for (const { id } of routines) {
      if (found.has(id)) continue
      const called = [...callable].find(([word]) => wordsOf.get(id)?.has(word))
      if (called) grew = !!found.set(id, `${found.get(called[1])} through ${called[0]}()`)
    }
  }
  return found
}

/** Every word that could be a name, so that no way of writing it hides one. */
function identifiersIn(text: string): ReadonlySet<string> {
  const words = text.toLowerCase().match(/"(?:[^"]|"")+"|[\p{L}_][\p{L}\p{N}_$]*/gu) ?? []
  return new Set(words.map((word) => (word.startsWith('"') ? word.slice(1, -1).replaceAll('""', '"') : word)))
}

function isDynamic({ language, text, isCut }: Routine): boolean {
  if (isCut) return true
  if (language === 'plpgsql') return /\bexecute\b/i.test(text)
  return language !== 'sql' || /\b(query_to_xml|cursor_to_xml|table_to_xml|dblink|ts_stat)/i.test(text)
}

/** Those of the roles that may read a hidden column. */
export async function readSeeing(
  { sql, masked }: Pick<Scene, 'sql' | 'masked'>,
  owners: readonly string[],
): Promise<ReadonlySet<string>> {
  const hidden = masked.flatMap(({ oid, hidden }) => hidden.map(({ number }) => ({ oid, number })))
  const rows = await sql<{ name: string }[]>`
    select r.rolname::text as name from pg_catalog.pg_roles r where r.rolname = any(${owners}::text[]) and exists (
      select 1 from unnest(${hidden.map(({ oid }) => oid)}::oid[], ${hidden.map(({ number }) => number)}::int2[]) as h(relation, number)
      where pg_catalog.has_column_privilege(r.oid, h.relation, h.number, 'SELECT'))`
  return new Set(rows.map(({ name }) => name))
}
