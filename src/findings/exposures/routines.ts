import type { Sql } from '../../db/sql.ts'
import { selectGuard } from '../../masks/read/guard.ts'
import type { Routine, Scene } from './exposure.ts'
import { granteesOf } from './grantees.ts'
import type { RoleBook } from './role-book.ts'

/** Of a body, in bytes: any role that may create functions may write one of a gigabyte. */
const mostText = 100_000
/** Of all bodies together. Those of masked roles come last, so that they displace none of another role. */
const mostTexts = 16_000_000

/** SQL for the names of the schemas of a function's own search path. */
export const ownPath = `(select pg_catalog.substr(s, 13) from unnest(p.proconfig) s where s like 'search\\_path=%')`

export async function readRoutines(
  sql: Sql,
  version: number,
  { seers, makers }: RoleBook,
): Promise<Routine[]> {
  const isText = version >= 140000 ? sql`p.prosqlbody is null` : sql`true`
  const size = sql`pg_catalog.octet_length(p.prosrc)`
  const dependsOn = (catalog: string) => sql`
    array(select distinct d.refobjid::int8 from pg_catalog.pg_depend d
      where d.classid = 'pg_catalog.pg_proc'::regclass and d.objid = p.oid
        and d.refclassid = ${catalog}::regclass)`
  return await sql<Routine[]>`
    select p.oid::int8 as id, p.proname::text as "bareName", n.nspname::text as schema, o.rolname::text as owner,
      case p.prokind when 'p' then 'procedure' else 'function' end as kind, l.lanname::text as language,
      ${isText} as "isText", ${sql.unsafe(ownPath)} as path,
      case when m.is_read then pg_catalog.left(p.prosrc, ${mostText}) else '' end as text,
      not m.is_read or ${size} > ${mostText} as "isCut",
      ${dependsOn('pg_catalog.pg_class')} as reads, ${dependsOn('pg_catalog.pg_proc')} as calls,
      p.oid::regprocedure::text as signature, m.is_definer as "isDefiner", case when m.is_definer then
        ${granteesOf(sql, sql`coalesce(p.proacl, pg_catalog.acldefault('f', p.proowner))`, 'EXECUTE')} end as grantees,
      exists (select from pg_catalog.pg_trigger t where t.tgfoid = p.oid and t.tgenabled <> 'D')
        or exists (select from pg_catalog.pg_event_trigger e where e.evtfoid = p.oid and e.evtenabled <> 'D') as "isFired"
    from (
      select p.oid, p.prosecdef and o.rolname = any(${[...seers]}::text[]) as is_definer, pg_catalog.sum(least(${size}, ${mostText})) over (
        order by o.rolname = any(${makers}::text[]), ${size}, p.oid) <= ${mostTexts} as is_read
      from pg_catalog.pg_proc p join pg_catalog.pg_roles o on o.oid = p.proowner
      join pg_catalog.pg_namespace n on n.oid = p.pronamespace join pg_catalog.pg_language l on l.oid = p.prolang
      where n.nspname !~ '^(pg_|information_schema$)' and l.lanname not in ('c', 'internal')
        and n.oid is distinct from (select oid from (${selectGuard(sql)}) g) and p.prokind in ('f', 'p')
    ) m join pg_catalog.pg_proc p on p.oid = m.oid join pg_catalog.pg_roles o on o.oid = p.proowner
    join pg_catalog.pg_namespace n on n.oid = p.pronamespace join pg_catalog.pg_language l on l.oid = p.prolang
    order by p.proname, p.oid`
}

/** The routines that read a masked relation, themselves or through one that they call, each with its name. */
export function readersOf({ masked, byOid, routines }: Scene): ReadonlyMap<number, string> {
  const found = new Map<number, string>()
  const relations = new Map(masked.map(({ bareName, name }) => [bareName.toLowerCase(), name]))
  const wordsOf = new Map(routines.map(({ id, text }) => [id, identifiersIn(text)]))
  const mentioned = (id: number, names: ReadonlyMap<string, string>) =>
    [...names].find(([word]) => wordsOf.get(id)?.has(word))?.[1]
  for (const { id, reads } of routines) {
    const known = reads.map((oid) => byOid.get(oid)?.name).find((name) => name !== undefined)
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
