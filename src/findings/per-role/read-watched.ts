import { createHash } from 'node:crypto'
import type { WatchedColumn, WatchedRelation } from '../../contracts/role-masks.ts'
import type { Sql } from '../../db/sql.ts'
import { anyChange, anyColumn, anyWrite, followRelations, type Source } from './follow-relations.ts'
import { type ObservedColumn, readObservedSources, readSources, readTwins } from './read-sources.ts'

/** The masked columns as one role sees them; the digest changes with any of them. */
export interface WatchedForRole {
  /** The OID of the role that has the name now. */
  readonly roleOid: number
  readonly watched: readonly WatchedRelation[]
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
  /** Numbers of rows; `Whole`: for roles with the privilege to write so. */
  readonly errors: Readonly<Record<'fails' | 'failsWhole' | 'failsOnChange' | 'failsOnChangeWhole', number[]>>
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
  observed: readonly ObservedColumn[] = [],
): Promise<Map<string, WatchedForRole>> {
  const { relations, rows } = await readShowing(sql, guard, observed)
  const shown = [
    ...rows,
    ...relations.flatMap(({ masked, reached }) => [masked, ...Object.values(reached)]),
  ].flat()
  const needed = new Set([
    ...shown.flatMap(({ needs }) => needs),
    ...relations.flatMap(({ oid, errors }) => [
      ...(errors.failsWhole.length > 0 ? [`${oid}/${anyWrite}`] : []),
      ...(errors.failsOnChangeWhole.length > 0 ? [`${oid}/${anyChange}`] : []),
    ]),
    ...Object.values(statisticsTables).map(anyColumn),
  ])
  const digest = hash(JSON.stringify([relations, rows]))
  const found = new Map<string, WatchedForRole>()
  for (const { role, roleOid, readable } of await readReadable(sql, roles, [...needed])) {
    const may = new Set(readable)
    const seen = seeRows(rows, may)
    const watched = relations.flatMap((relation) => seeRelation(relation, seen, may))
    const sampled = relations.flatMap(({ masked, reached, isStored }) =>
      isStored ? [...masked, ...reached.shows] : masked,
    )
    watched.push(...listStatistics(sampled.map(seeBy(may)), may))
    found.set(role, { roleOid, watched, rows: seen, digest: `${digest}/${hash(readable.sort().join())}` })
  }
  return found
}

const hash = (text: string) => createHash('sha256').update(text).digest('base64')

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

/**
 * What is masked there, or denied, makes a relation worth watching, but for errors: what they deny they do not show.
 */
function seeRelation(
  { oid, masked, reached, errors, isStored: _, ...rest }: Relation,
  rows: readonly (readonly string[])[],
  may: ReadonlySet<string>,
): WatchedRelation[] {
  const see = seeBy(may)
  // PostgreSQL denies what needs the privilege. A policy may be one of other roles, and then nothing is denied.
  const foresee = (shown: Shown) => {
    const seen = see(shown)
    return seen.isRaw || shown.needs.length === 0 ? seen : { ...seen, mayBecomeRaw: true }
  }
  const mayFail = (own: readonly number[], whole: readonly number[], privilege: number) => [
    ...own.filter((number) => rows[number]?.length),
    ...(may.has(`${oid}/${privilege}`) ? whole : []),
  ]
  const lists = { masked: masked.map(foresee), shows: reached.shows.map(foresee) }
  const others = {
    rules: reached.rules.map(foresee),
    policies: reached.policies.map(see),
    fails: mayFail(errors.fails, errors.failsWhole, anyWrite),
    failsOnChange: mayFail(errors.failsOnChange, errors.failsOnChangeWhole, anyChange),
  }
  const present = Object.fromEntries(Object.entries(others).filter(([, some]) => some.length > 0))
  const isEmpty = lists.masked.length + lists.shows.length + Object.keys(present).length === 0
  return isEmpty ? [] : [{ ...rest, ...lists, ...present }]
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
  const bySource = Map.groupBy(sources, ({ oid }) => oid)
  const show = ({ oid, base, number, attribute, column }: Source) => ({
    column,
    attribute,
    needs: base === null ? [`${oid}/${number}`] : [],
  })
  // In an order that is the same each time, or the digest would be another one.
  const keys = [...rows.keys()].sort()
  const numbers = new Map(keys.map((key, number) => [key, number]))
  const place = (some: ReadonlySet<string> | undefined, first = 0) =>
    [...(some ?? [])].map((key) => first + (numbers.get(key) ?? 0)).sort((a, b) => a - b)
  const named = await readNames(sql, [...new Set([...bySource.keys(), ...reached.keys()])])
  const relations = named.map(({ oid, ...names }) => {
    const how = reached.get(oid)
    return {
      oid,
      ...names,
      masked: (bySource.get(oid) ?? []).map(show),
      reached: { shows: list(how?.shows), rules: list(how?.rules), policies: list(how?.policies) },
      errors: {
        fails: place(how?.fails),
        failsWhole: place(how?.failsWhole, keys.length),
        failsOnChange: place(how?.failsOnChange),
        failsOnChangeWhole: place(how?.failsOnChangeWhole, keys.length),
      },
    }
  })
  return { relations, rows: keys.map((key) => (rows.get(key) ?? []).map(show)) }
}

/** `16402/3 public.person.mail` as a column with what it needs. */
function list(facts: ReadonlySet<string> = new Set()): Shown[] {
  const split = [...facts].sort().map((fact) => {
    const at = fact.indexOf(' ')
    return { need: fact.slice(0, at), column: fact.slice(at + 1) }
  })
  const needs = (same: typeof split) => same.flatMap(({ need }) => (need === '' ? [] : [need]))
  return [...Map.groupBy(split, ({ column }) => column)]
    .map(([column, same]) => ({ column, attribute: '', needs: needs(same) }))
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
