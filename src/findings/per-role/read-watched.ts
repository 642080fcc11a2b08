import { createHash } from 'node:crypto'
import type { ColumnPlace } from '../../contracts/inspection.ts'
import type { RoleMasks, WatchedColumn, WatchedRelation } from '../../contracts/role-masks.ts'
import type { Sql } from '../../db/sql.ts'
import { anyChange, anyColumn, anyWrite, followRelations, type Source } from './follow-relations.ts'
import { readObservedSources, readSources, readTwins } from './read-sources.ts'

/** The masked columns as one role sees them; the digest changes with any of them. */
type WatchedForRole = Required<Pick<RoleMasks, 'roleOid' | 'watched' | 'rows' | 'watchedDigest'>>

interface Relation extends Readonly<Record<'masked' | 'shows' | 'rules' | 'policies', readonly Shown[]>> {
  readonly oid: number
  readonly schema: string
  readonly name: string
  readonly attributes: readonly string[]
  /** A materialized view: it has rows of its own. */
  readonly isStored: boolean
  /** Numbers of rows; those of whole rows, for roles with the privilege to write so, come behind all others. */
  readonly fails: readonly number[]
  readonly failsOnChange: readonly number[]
}

interface Shown {
  readonly column: string
  readonly attribute: string
  /** Privileges of which one is enough for it to be raw, as in `Reached`; none: there are masks on every way. */
  readonly needs: readonly string[]
}

/**
 * Masked tables and their twins, and every relation by whose views, rules and policies a masked column of either is
 * read, at any depth; for each role whether it would see the values themselves. `guard`: the schema of our records;
 * null where the policy is only observed.
 */
export async function readWatched(
  sql: Sql,
  roles: readonly string[],
  guard: string | null,
  observed: readonly ColumnPlace[] = [],
): Promise<Map<string, WatchedForRole>> {
  const { relations, rows } = await readShowing(sql, guard, observed)
  const shown = relations.flatMap(({ masked, shows, rules, policies }) => [masked, shows, rules, policies])
  const needed = new Set([
    ...[...rows, ...shown].flat().flatMap(({ needs }) => needs),
    ...relations.flatMap(({ oid, fails }) => (fails.length > 0 ? `${oid}/${anyWrite}` : [])),
    ...relations.flatMap(({ oid, failsOnChange }) => (failsOnChange.length > 0 ? `${oid}/${anyChange}` : [])),
    ...Object.values(statisticsTables).map(anyColumn),
  ])
  const digest = hash(JSON.stringify([relations, rows]))
  const found = new Map<string, WatchedForRole>()
  for (const { role, roleOid, readable } of await readReadable(sql, roles, [...needed])) {
    const may = new Set(readable)
    const isRaw = ({ needs }: Shown) => needs.some((each) => may.has(each))
    const see = (one: Shown) => ({ column: one.column, attribute: one.attribute, isRaw: isRaw(one) })
    // The rows as the role may read them, then the same as a whole.
    const seen = [...rows.map((row) => row.filter(isRaw)), ...rows].map((row) =>
      row.map(({ column }) => column),
    )
    const sampled = relations.flatMap(({ masked, shows, isStored }) =>
      isStored ? [...masked, ...shows] : masked,
    )
    found.set(role, {
      roleOid,
      watched: [
        ...relations.flatMap((relation) => seeRelation(relation, seen, may, see)),
        ...listStatistics(sampled.map(see), may),
      ],
      rows: seen,
      watchedDigest: `${digest}/${hash(readable.sort().join())}`,
    })
  }
  return found
}

const hash = (text: string) => createHash('sha256').update(text).digest('base64')

/**
 * What is masked there, or denied, makes a relation worth watching, but for errors: what they deny they do not show.
 */
function seeRelation(
  { oid, schema, name, attributes, masked, shows, ...others }: Relation,
  rows: readonly (readonly string[])[],
  may: ReadonlySet<string>,
  see: (shown: Shown) => WatchedColumn,
): WatchedRelation[] {
  // PostgreSQL denies what needs the privilege. A policy may be one of other roles, and then nothing is denied.
  const foresee = (shown: Shown) => {
    const seen = see(shown)
    return seen.isRaw || shown.needs.length === 0 ? seen : { ...seen, mayBecomeRaw: true }
  }
  const mayFail = (numbers: readonly number[], privilege: number) =>
    numbers.filter((number) =>
      number < rows.length / 2 ? rows[number]?.length : may.has(`${oid}/${privilege}`),
    )
  const seldom = {
    rules: others.rules.map(foresee),
    policies: others.policies.map(see),
    fails: mayFail(others.fails, anyWrite),
    failsOnChange: mayFail(others.failsOnChange, anyChange),
  }
  const present = Object.fromEntries(Object.entries(seldom).filter(([, some]) => some.length > 0))
  const isEmpty = masked.length + shows.length + Object.keys(present).length === 0
  const own = { schema, name, attributes, masked: masked.map(foresee), shows: shows.map(foresee) }
  return isEmpty ? [] : [{ ...own, ...present }]
}

/** Views that show samples of the columns that their reader may read. */
const statisticsViews = ['pg_stats', 'pg_stats_ext', 'pg_stats_ext_exprs']
/** The tables below, with samples of all columns, by OIDs that are the same in every PostgreSQL. */
const statisticsTables = { pg_statistic: 2619, pg_statistic_ext_data: 3429 }

/**
 * Catalogs with samples of masked columns, and those of the columns that the role reads there: it cannot be told which
 * of them. What it would read after a GRANT is not listed, as PostgreSQL leaves it out without a word.
 */
function listStatistics(columns: readonly WatchedColumn[], readable: ReadonlySet<string>): WatchedRelation[] {
  if (columns.length === 0) return []
  const byName = (some: readonly WatchedColumn[]) => [
    ...new Map(some.map((each) => [each.column, each])).values(),
  ]
  const raw = byName(columns.filter(({ isRaw }) => isRaw))
  const all = byName(columns.map((each) => ({ ...each, isRaw: true })))
  const tables = Object.entries(statisticsTables)
  return [
    ...statisticsViews.map((name) => ({ name, shows: raw })),
    ...tables.map(([name, oid]) => ({ name, shows: readable.has(anyColumn(oid)) ? all : [] })),
  ].map(({ name, shows }) => ({
    ...{ schema: 'pg_catalog', name, attributes: [], masked: [], shows },
    ...(shows.length < all.length && { mayShowMore: true }),
  }))
}

async function readShowing(
  sql: Sql,
  guard: string | null,
  observed: readonly ColumnPlace[],
): Promise<{ readonly relations: Relation[]; readonly rows: (readonly Shown[])[] }> {
  const sources = guard === null ? await readObservedSources(sql, observed) : await readSources(sql, guard)
  const twins = guard === null ? new Map<number, number>() : await readTwins(sql, guard)
  const { reached, rows } = await followRelations(sql, sources, twins)
  const bySource = Map.groupBy(sources, ({ oid }) => oid)
  const show = ({ oid, base, number, attribute, column }: Source) => ({
    column,
    attribute,
    needs: base === null ? [`${oid}/${number}`] : [],
  })
  // In an order that is the same each time, or the digest would be another one.
  const keys = [...rows.keys()].sort()
  const numbers = new Map(keys.map((key, number) => [key, number]))
  const place = (errors: ReadonlySet<string> | undefined, wanted: string) =>
    [...(errors ?? [])]
      .flatMap((error) => {
        const [when, how, key = ''] = error.split(' ')
        return when === wanted ? (how === 'whole' ? keys.length : 0) + (numbers.get(key) ?? 0) : []
      })
      .sort((a, b) => a - b)
  const named = await readNames(sql, [...new Set([...bySource.keys(), ...reached.keys()])])
  const relations = named.map(({ oid, ...names }) => {
    const how = reached.get(oid)
    return {
      ...{ oid, ...names, masked: (bySource.get(oid) ?? []).map(show) },
      ...{ shows: list(how?.shows), rules: list(how?.rules), policies: list(how?.policies) },
      ...{ fails: place(how?.errors, 'write'), failsOnChange: place(how?.errors, 'change') },
    }
  })
  return { relations, rows: keys.map((key) => (rows.get(key) ?? []).map(show)) }
}

/** `16402/3 public.person.mail` as a column with what it needs. */
function list(facts: ReadonlySet<string> = new Set()): Shown[] {
  const split = [...facts].sort().map((fact) => fact.split(/ (.*)/s))
  return [...Map.groupBy(split, ([, column = '']) => column)]
    .map(([column, same]) => ({ column, attribute: '', needs: same.flatMap(([need]) => need || []) }))
    .sort((a, b) => (a.column < b.column ? -1 : 1))
}

async function readNames(sql: Sql, oids: readonly number[]) {
  return await sql<{ oid: number; schema: string; name: string; attributes: string[]; isStored: boolean }[]>`
    select c.oid::int8 as oid, n.nspname::text as schema, c.relname::text as name,
      array(select a.attname::text from pg_catalog.pg_attribute a where a.attrelid = c.oid and a.attnum > 0
        and not a.attisdropped order by a.attnum) as attributes, c.relkind = 'm' as "isStored"
    from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
    where c.oid = any(${oids}::oid[]) order by 2, 3`
}

/**
 * What each role can read itself or by SET ROLE, which the gateway does not follow: as a role without INHERIT, or
 * after it has granted itself a role that it, or a role that it inherits from, administers. An owner can grant itself
 * any privilege on its relation. Before PostgreSQL 16 memberships have no options, and CREATEROLE grants every role
 * but superusers, `pg_read_all_data` too.
 */
async function readReadable(sql: Sql, roles: readonly string[], needed: readonly string[]) {
  const pairs = needed.map((each) => each.split('/'))
  return await sql<{ role: string; roleOid: number; readable: string[] }[]>`
    with recursive reached (role, oid, acts) as (
      select r.oid, r.oid, true from pg_catalog.pg_roles r where r.rolname = any(${roles}::text[])
      union select r.role, m.roleid, m.admin_option or (r.acts and o.sets)
      from reached r join pg_catalog.pg_auth_members m on m.member = r.oid cross join lateral (
        select coalesce((pg_catalog.to_jsonb(m)->>'set_option')::boolean, true) as sets,
          coalesce((pg_catalog.to_jsonb(m)->>'inherit_option')::boolean, true) as inherits) o
      where m.admin_option or o.inherits or (r.acts and o.sets)
    ), acted as materialized (
      select r.role, r.oid, o.rolcreaterole and pg_catalog.current_setting('server_version_num')::int < 160000 as anyone
      from reached r join pg_catalog.pg_roles o on o.oid = r.oid
      where r.acts and (r.role = r.oid or o.rolcreaterole or not pg_catalog.pg_has_role(r.role, r.oid, 'USAGE'))
    ), wanted as materialized (
      select w.oid, w.number, c.relowner
      from unnest(${pairs.map(([oid]) => oid)}::oid[], ${pairs.map(([, number]) => number)}::int2[]) as w(oid, number)
      join pg_catalog.pg_class c on c.oid = w.oid
    )
    select r.rolname::text as role, r.oid::int8 as "roleOid", array(
      select pg_catalog.concat(w.oid, '/', w.number) from wanted w
      where exists (select 1 from acted a where a.role = r.oid and (a.anyone or case w.number
        when 0 then pg_catalog.has_any_column_privilege(a.oid, w.oid, 'SELECT')
        when ${anyWrite} then pg_catalog.has_any_column_privilege(a.oid, w.oid, 'INSERT, UPDATE')
          or pg_catalog.has_table_privilege(a.oid, w.oid, 'DELETE')
        when ${anyChange} then pg_catalog.has_any_column_privilege(a.oid, w.oid, 'UPDATE')
          or pg_catalog.has_table_privilege(a.oid, w.oid, 'DELETE')
        else pg_catalog.has_column_privilege(a.oid, w.oid, w.number, 'SELECT') end
        or pg_catalog.pg_has_role(a.oid, w.relowner, 'USAGE')))) as readable
    from pg_catalog.pg_roles r where r.rolname = any(${roles}::text[])`
}
