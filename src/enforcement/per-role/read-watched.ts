import { createHash } from 'node:crypto'
import type { Sql } from '../../db/sql.ts'
import {
  anyChange,
  anyColumn,
  anyWrite,
  followRelations,
  type Reached,
  type Source,
} from './follow-relations.ts'
import { type ObservedColumn, readObservedSources, readSources, readTwins } from './read-sources.ts'

/** A masked column that a relation shows; the names of both may differ. */
export interface WatchedColumn {
  /** As SQL writes it: schema.table.column. */
  readonly column: string
  readonly attribute: string
  readonly isRaw: boolean
  /** The role lacks a privilege that would make it raw. */
  readonly mayBecomeRaw?: boolean
}

/** A relation that shows masked columns, raw or masked, to whom it may concern. */
export interface Watched {
  readonly schema: string
  readonly name: string
  readonly attributes: readonly string[]
  readonly masked: readonly WatchedColumn[]
  readonly shows: readonly WatchedColumn[]
  /** Those that its rules on INSERT, UPDATE and DELETE read. */
  readonly rules?: readonly WatchedColumn[]
  /** Those that its row policies read. */
  readonly policies?: readonly WatchedColumn[]
  /** Which of the role's `rows` an error of any write to it may show. */
  readonly fails?: readonly number[]
  /** The same of a write that changes rows that are there, beside its own columns. */
  readonly failsOnChange?: readonly number[]
  /** With a privilege that the role lacks, a read of it shows masked columns that are not in these lists. */
  readonly mayShowMore?: boolean
}

/** The masked columns as one role sees them; the digest changes with any of them. */
export interface WatchedForRole {
  /** The OID of the role that has the name now. */
  readonly roleOid: number
  readonly watched: readonly Watched[]
  /** Masked columns that one error shows raw: held once, as many relations may lead to them. */
  readonly rows: readonly (readonly string[])[]
  readonly digest: string
}

interface Relation {
  readonly oid: number
  readonly schema: string
  readonly name: string
  readonly attributes: readonly string[]
  /** A materialized view: it has rows of its own. */
  readonly isStored: boolean
  readonly masked: readonly Shown[]
  readonly reached: Readonly<Record<'shows' | 'rules' | 'policies', readonly Shown[]>>
  readonly fails: Failing
  readonly failsOnChange: Failing
}

/** Numbers of rows; `whole`: for roles with the privilege to write so. */
interface Failing {
  readonly own: readonly number[]
  readonly whole: readonly number[]
}

interface Shown {
  readonly column: string
  readonly attribute: string
  /** Privileges of which one is enough for it to be raw, as in `Reached`; none: there are masks on every way. */
  readonly needs: readonly string[]
}

/**
 * Masked tables and their twins, and every relation by whose views, rules and policies a masked column of either is read, at any depth;
 * for each role whether it would see the values themselves. `guard`: the schema of our records; null where the policy is only observed.
 */
export async function readWatched(
  sql: Sql,
  roles: readonly string[],
  guard: string | null,
  observed: readonly ObservedColumn[] = [],
): Promise<Map<string, WatchedForRole>> {
  const { relations, rows } = await readShowing(sql, guard, observed)
  const needed = new Set(
    relations.flatMap(({ masked, reached }) =>
      [masked, ...Object.values(reached)].flat().flatMap(({ needs }) => needs),
    ),
  )
  for (const row of rows) for (const { needs } of row) for (const each of needs) needed.add(each)
  for (const { oid, fails, failsOnChange } of relations) {
    if (fails.whole.length > 0) needed.add(`${oid}/${anyWrite}`)
    if (failsOnChange.whole.length > 0) needed.add(`${oid}/${anyChange}`)
  }
  for (const oid of Object.values(statisticsTables)) needed.add(anyColumn(oid))
  const digest = createHash('sha256')
    .update(JSON.stringify([relations, rows]))
    .digest('base64')
  const found = new Map<string, WatchedForRole>()
  for (const { role, roleOid, readable } of await readReadable(sql, roles, [...needed])) {
    const may = new Set(readable)
    const seen = seeRows(rows, may)
    const watched = relations.flatMap((relation) => seeRelation(relation, seen, may))
    const sampled = relations.flatMap(({ masked, reached, isStored }) =>
      isStored ? [...masked, ...reached.shows] : masked,
    )
    watched.push(...listStatistics(sampled.map(seeBy(may)), may))
    const own = createHash('sha256').update(readable.sort().join()).digest('base64')
    found.set(role, { roleOid, watched, rows: seen, digest: `${digest}/${own}` })
  }
  return found
}

/** The rows as the role may read them, then the same as a whole. */
function seeRows(rows: readonly (readonly Shown[])[], may: ReadonlySet<string>): string[][] {
  const list = (row: readonly Shown[]) => row.map(({ column }) => column)
  const isReadable = ({ needs }: Shown) => needs.some((each) => may.has(each))
  return [...rows.map((row) => list(row.filter(isReadable))), ...rows.map(list)]
}

function seeBy(may: ReadonlySet<string>): (shown: Shown) => WatchedColumn {
  return ({ column, attribute, needs }) => ({
    column,
    attribute,
    isRaw: needs.some((each) => may.has(each)),
  })
}

/** What is masked there, or denied, makes a relation worth watching, but for errors: what they deny they do not show. */
function seeRelation(
  relation: Relation,
  rows: readonly (readonly string[])[],
  may: ReadonlySet<string>,
): Watched[] {
  const { oid, masked, reached, fails, failsOnChange, isStored, ...rest } = relation
  const see = seeBy(may)
  // PostgreSQL denies what needs the privilege. A policy may be one of other roles, and then nothing is denied.
  const foresee = (shown: Shown) => {
    const seen = see(shown)
    return seen.isRaw || shown.needs.length === 0 ? seen : { ...seen, mayBecomeRaw: true }
  }
  const [shows, rules, policies] = (['shows', 'rules', 'policies'] as const).map((how) => {
    return reached[how].map(how === 'policies' ? see : foresee)
  })
  const mayFail = ({ own, whole }: Failing, privilege: number) => [
    ...own.filter((number) => rows[number]?.length),
    ...(may.has(`${oid}/${privilege}`) ? whole : []),
  ]
  const [ofWrites, ofChanges] = [mayFail(fails, anyWrite), mayFail(failsOnChange, anyChange)]
  const watched = {
    ...rest,
    masked: masked.map(foresee),
    shows: shows ?? [],
    ...(rules?.length && { rules }),
    ...(policies?.length && { policies }),
    ...(ofWrites.length && { fails: ofWrites }),
    ...(ofChanges.length && { failsOnChange: ofChanges }),
  }
  const isEmpty = [watched.masked, shows, rules, policies, ofWrites, ofChanges].every((some) => !some?.length)
  return isEmpty ? [] : [watched]
}

/** Views that show samples of the columns that their reader may read. */
const statisticsViews = ['pg_stats', 'pg_stats_ext', 'pg_stats_ext_exprs']
/** The tables below, with samples of all columns, by OIDs that are the same in every PostgreSQL. */
const statisticsTables = { pg_statistic: 2619, pg_statistic_ext_data: 3429 }

/**
 * Catalogs with samples of masked columns, and those of the columns that the role reads there: it cannot be told which of them. What
 * it would read after a GRANT is not listed, as PostgreSQL leaves it out without a word.
 */
function listStatistics(columns: readonly WatchedColumn[], readable: ReadonlySet<string>): Watched[] {
  const byName = (some: readonly WatchedColumn[]) => [
    ...new Map(some.map((each) => [each.column, each])).values(),
  ]
  if (columns.length === 0) return []
  const raw = byName(columns.filter(({ isRaw }) => isRaw))
  const names = new Set(columns.map(({ column }) => column))
  const tables = Object.entries(statisticsTables)
  const isOpen = tables.some(([, oid]) => readable.has(anyColumn(oid)))
  const all = isOpen ? byName(columns).map((each) => ({ ...each, isRaw: true })) : []
  const catalogs = [
    ...statisticsViews.map((name) => ({ name, shows: raw })),
    ...tables.map(([name, oid]) => ({ name, shows: readable.has(anyColumn(oid)) ? all : [] })),
  ]
  return catalogs.map(({ name, shows }) => ({
    schema: 'pg_catalog',
    name,
    attributes: [],
    masked: [],
    shows,
    ...(shows.length < names.size && { mayShowMore: true }),
  }))
}

async function readShowing(
  sql: Sql,
  guard: string | null,
  observed: readonly ObservedColumn[],
): Promise<{ readonly relations: Relation[]; readonly rows: (readonly Shown[])[] }> {
  const sources = guard === null ? await readObservedSources(sql, observed) : await readSources(sql, guard)
  const twins = guard === null ? new Map<number, number>() : await readTwins(sql, guard)
  const { reached, rows } = await followRelations(sql, sources, twins)
  const oids = [...new Set([...sources.map(({ oid }) => oid), ...reached.keys()])]
  const bySource = Map.groupBy(sources, ({ oid }) => oid)
  const show = ({ oid, base, number, attribute, column }: Source) => ({
    column,
    attribute,
    needs: base === null ? [`${oid}/${number}`] : [],
  })
  // In an order that is the same each time, or the digest would be another one.
  const keys = [...rows.keys()].sort()
  const numbers = new Map(keys.map((key, number) => [key, number]))
  const number = (some: Iterable<string> = [], first = 0) =>
    [...some].map((key) => first + (numbers.get(key) ?? 0)).sort((a, b) => a - b)
  const named = await readNames(sql, oids)
  const relations = named.map(({ oid, ...names }) => {
    const how = reached.get(oid)
    const list = (columns: Reached['shows'] | undefined) =>
      [...(columns ?? [])]
        .map(([column, needs]) => ({ column, attribute: '', needs: [...needs].sort() }))
        .sort((a, b) => (a.column < b.column ? -1 : 1))
    const place = (failing: Reached['fails'] | undefined) => ({
      own: number(failing?.own),
      whole: number(failing?.whole, keys.length),
    })
    return {
      oid,
      ...names,
      masked: (bySource.get(oid) ?? []).map(show),
      reached: { shows: list(how?.shows), rules: list(how?.rules), policies: list(how?.policies) },
      fails: place(how?.fails),
      failsOnChange: place(how?.failsOnChange),
    }
  })
  return { relations, rows: keys.map((key) => (rows.get(key) ?? []).map(show)) }
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
 * What each role can read itself or by SET ROLE, which the gateway does not follow: as a role without INHERIT, or after it has
 * granted itself a role that it, or a role that it inherits from, administers. An owner can grant itself any privilege on its relation.
 * Before PostgreSQL 16 memberships have no options, and CREATEROLE grants every role but superusers, `pg_read_all_data` too.
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
