import { createHash } from 'node:crypto'
import type { Sql } from '../../db/sql.ts'

/** A masked column that a relation shows; the names of both may differ. */
export interface WatchedColumn {
  /** As SQL writes it: schema.table.column. */
  readonly column: string
  readonly attribute: string
  readonly isRaw: boolean
}

/** A relation that shows masked columns, raw or masked, to whom it may concern. */
export interface Watched {
  readonly schema: string
  readonly name: string
  readonly attributes: readonly string[]
  readonly masked: readonly WatchedColumn[]
  readonly shows: readonly WatchedColumn[]
}

/** A column that would be masked if the policy were enforced. */
export interface ObservedColumn {
  readonly schema: string
  readonly table: string
  readonly column: string
}

/** The masked columns as one role sees them; the digest changes with any of them. */
export interface WatchedForRole {
  /** The OID of the role that has the name now. */
  readonly roleOid: number
  readonly watched: readonly Watched[]
  readonly digest: string
}

interface Relation {
  readonly schema: string
  readonly name: string
  readonly attributes: readonly string[]
  readonly masked: readonly Shown[]
  readonly shows: readonly Shown[]
}

interface Shown {
  readonly column: string
  readonly attribute: string
  /** `oid/number` of what has to be readable for it to be raw; number 0: any column; none: there is a mask on the way. */
  readonly needs: string | undefined
}

/**
 * Masked tables and their twins, and every view that reads a masked column of either, at any depth; for each role whether it
 * would see the values themselves. `guard`: the schema of our records; null where the policy is only observed.
 */
export async function readWatched(
  sql: Sql,
  roles: readonly string[],
  guard: string | null,
  observed: readonly ObservedColumn[] = [],
): Promise<Map<string, WatchedForRole>> {
  const relations = await readShowing(sql, guard, observed)
  const needed = new Set(
    relations.flatMap(({ masked, shows }) => [...masked, ...shows].flatMap(({ needs }) => needs ?? [])),
  )
  for (const oid of Object.values(statisticsTables)) needed.add(`${oid}/0`)
  const digest = createHash('sha256').update(JSON.stringify(relations)).digest('base64')
  const found = new Map<string, WatchedForRole>()
  for (const { role, roleOid, readable } of await readReadable(sql, roles, [...needed])) {
    const may = new Set(readable)
    const see = ({ column, attribute, needs }: Shown) => ({
      column,
      attribute,
      isRaw: needs !== undefined && may.has(needs),
    })
    const watched: Watched[] = relations.map(({ masked, shows, ...rest }) => ({
      ...rest,
      masked: masked.map(see),
      shows: shows.map(see),
    }))
    watched.push(...listStatistics(watched, may))
    const own = createHash('sha256').update(readable.sort().join()).digest('base64')
    found.set(role, { roleOid, watched, digest: `${digest}/${own}` })
  }
  return found
}

/** Views that show samples of the columns that their reader may read. */
const statisticsViews = ['pg_stats', 'pg_stats_ext', 'pg_stats_ext_exprs']
/** The tables below, with samples of all columns, by OIDs that are the same in every PostgreSQL. */
const statisticsTables = { pg_statistic: 2619, pg_statistic_ext_data: 3429 }

/** Catalogs from which the role reads samples of masked columns, with these columns. It cannot be told which of them it reads. */
function listStatistics(watched: readonly Watched[], readable: ReadonlySet<string>): Watched[] {
  const columns = watched.flatMap(({ masked }) => masked)
  const byName = (some: readonly WatchedColumn[]) => [
    ...new Map(some.map((each) => [each.column, each])).values(),
  ]
  const raw = byName(columns.filter(({ isRaw }) => isRaw))
  const tables = Object.entries(statisticsTables).filter(([, oid]) => readable.has(`${oid}/0`))
  const all = tables.length > 0 ? byName(columns).map((each) => ({ ...each, isRaw: true })) : []
  const catalogs = [
    ...statisticsViews.map((name) => ({ name, shows: raw })),
    ...tables.map(([name]) => ({ name, shows: all })),
  ]
  return catalogs
    .filter(({ shows }) => shows.length > 0)
    .map((each) => ({ ...each, schema: 'pg_catalog', attributes: [], masked: [] }))
}

interface Source {
  readonly oid: number
  /** The table of a twin, otherwise null. */
  readonly base: number | null
  readonly number: number
  readonly attribute: string
  readonly column: string
}

async function readShowing(
  sql: Sql,
  guard: string | null,
  observed: readonly ObservedColumn[],
): Promise<Relation[]> {
  const sources = guard === null ? await readObservedSources(sql, observed) : await readSources(sql, guard)
  const twins = guard === null ? new Map<number, number>() : await readTwins(sql, guard)
  const shown = await followViews(sql, sources, new Set(twins.values()), twins)
  const oids = [...new Set([...sources.map(({ oid }) => oid), ...shown.keys()])]
  const bySource = Map.groupBy(sources, ({ oid }) => oid)
  const named = await readNames(sql, oids)
  return named.map(({ oid, schema, name, attributes }) => {
    const own = bySource.get(oid) ?? []
    const masked = own.map(({ base, number, attribute, column }) => ({
      column,
      attribute,
      needs: base === null ? `${oid}/${number}` : undefined,
    }))
    const shows = [...(shown.get(oid) ?? [])].map(([column, isMasked]) => ({
      column,
      attribute: '',
      needs: isMasked ? undefined : `${oid}/0`,
    }))
    return { schema, name, attributes, masked, shows }
  })
}

/** Columns that have a mask, and the same of the twins. */
async function readSources(sql: Sql, guard: string): Promise<Source[]> {
  return await sql<Source[]>`
    with pinned as materialized (
      select distinct g.oid, p.number, g.twin
      from ${sql(guard)}.relation g cross join lateral pg_catalog.jsonb_to_recordset(g.pins) as p(number int)
    ), named as materialized (
      select p.oid, a.attnum, a.attname, pg_catalog.format('%I.%I.%I', n.nspname, c.relname, a.attname) as label,
        pg_catalog.to_regclass(pg_catalog.format('%I.%I', p.twin->>'schema', p.twin->>'name'))::oid as twin
      from pinned p join pg_catalog.pg_class c on c.oid = p.oid join pg_catalog.pg_namespace n on n.oid = c.relnamespace
      join pg_catalog.pg_attribute a on a.attrelid = p.oid and a.attnum = p.number and not a.attisdropped
    )
    select oid::int8 as oid, null::int8 as base, attnum::int as number, attname::text as attribute, label as column from named
    union all
    select a.attrelid::int8, n.oid::int8, a.attnum::int, a.attname::text, n.label
    from named n join pg_catalog.pg_attribute a on a.attrelid = n.twin and a.attname = n.attname
    order by 1, 3`
}

/** Columns that a policy in observe mode would mask. Tables that it names are not masked, so there are no twins. */
async function readObservedSources(sql: Sql, columns: readonly ObservedColumn[]): Promise<Source[]> {
  return await sql<Source[]>`
    select c.oid::int8 as oid, null::int8 as base, a.attnum::int as number, a.attname::text as attribute,
      pg_catalog.format('%I.%I.%I', n.nspname, c.relname, a.attname) as column
    from unnest(${columns.map(({ schema }) => schema)}::text[], ${columns.map(({ table }) => table)}::text[],
      ${columns.map(({ column }) => column)}::text[]) as w(schema, relation, attribute)
    join pg_catalog.pg_namespace n on n.nspname = w.schema
    join pg_catalog.pg_class c on c.relnamespace = n.oid and c.relname = w.relation
    join pg_catalog.pg_attribute a on a.attrelid = c.oid and a.attname = w.attribute and a.attnum > 0 and not a.attisdropped
    order by 1, 3`
}

async function readTwins(sql: Sql, guard: string): Promise<Map<number, number>> {
  const rows = await sql<{ base: number; oid: number }[]>`
    select oid::int8 as base, pg_catalog.to_regclass(pg_catalog.format('%I.%I', twin->>'schema', twin->>'name'))::oid::int8 as oid
    from ${sql(guard)}.relation where twin is not null`
  return new Map(rows.map(({ base, oid }) => [base, oid]))
}

/** For every view the masked columns that it reads, and whether all of that goes through masks. */
async function followViews(
  sql: Sql,
  sources: readonly Source[],
  isTwin: ReadonlySet<number>,
  twins: ReadonlyMap<number, number>,
): Promise<Map<number, Map<string, boolean>>> {
  const shown = new Map<number, Map<string, boolean>>()
  const bySource = Map.groupBy(sources, ({ oid }) => oid)
  let reached = new Set(bySource.keys())
  while (reached.size > 0) {
    const next = new Set<number>()
    // The columns of a twin already tell what it shows of its own table.
    const found = (await readViewsOver(sql, [...reached])).map((one) => ({
      ...one,
      sources: twins.get(one.oid) === one.view ? [] : (bySource.get(one.oid) ?? []),
    }))
    const unclear = found.filter(({ sources: own, numbers }) =>
      own.some(({ number }) => !numbers.includes(number)),
    )
    const takeRows = await findTakingRows(
      sql,
      unclear.map(({ view }) => view),
    )
    for (const { view, oid, numbers, sources: own } of found) {
      const read = own.filter(({ number }) => numbers.includes(number) || takeRows.has(view))
      const columns = new Map<string, boolean>(shown.get(oid))
      for (const { column, base } of read) columns.set(column, base !== null && (columns.get(column) ?? true))
      const known = shown.get(view) ?? new Map<string, boolean>()
      for (const [column, isMasked] of columns) {
        const before = known.get(column)
        const now = (isMasked || isTwin.has(view)) && (before ?? true)
        if (before === now) continue
        known.set(column, now)
        next.add(view)
      }
      if (known.size > 0) shown.set(view, known)
    }
    reached = next
  }
  return shown
}

/** PostgreSQL writes down which columns a view reads; not those of a row that it reads as a whole. */
async function readViewsOver(sql: Sql, oids: readonly number[]) {
  return await sql<{ view: number; oid: number; numbers: number[] }[]>`
    select w.ev_class::int8 as view, d.oid::int8 as oid, d.numbers
    from (
      select objid, refobjid as oid, pg_catalog.array_agg(refobjsubid::int) as numbers from pg_catalog.pg_depend
      where refclassid = 'pg_catalog.pg_class'::pg_catalog.regclass and refobjid = any(${oids}::oid[])
        and classid = 'pg_catalog.pg_rewrite'::pg_catalog.regclass group by 1, 2
    ) d join pg_catalog.pg_rewrite w on w.oid = d.objid and w.ev_type = '1' and w.ev_class <> d.oid`
}

async function findTakingRows(sql: Sql, views: readonly number[]): Promise<Set<number>> {
  if (views.length === 0) return new Set()
  const rows = await sql<{ oid: number }[]>`
    select ev_class::int8 as oid from pg_catalog.pg_rewrite
    where ev_class = any(${views}::oid[]) and ev_type = '1' and ev_action::text like '%:varattno 0 %'`
  return new Set(rows.map(({ oid }) => oid))
}

async function readNames(sql: Sql, oids: readonly number[]) {
  return await sql<{ oid: number; schema: string; name: string; attributes: string[] }[]>`
    select c.oid::int8 as oid, n.nspname::text as schema, c.relname::text as name,
      array(select a.attname::text from pg_catalog.pg_attribute a where a.attrelid = c.oid and a.attnum > 0
        and not a.attisdropped order by a.attnum) as attributes
    from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
    where c.oid = any(${oids}::oid[]) order by 2, 3`
}

/**
 * What each role can read itself or by SET ROLE, which the gateway does not follow: as a role without INHERIT, or after it has
 * granted itself a role that it administers.
 */
async function readReadable(sql: Sql, roles: readonly string[], needed: readonly string[]) {
  const pairs = needed.map((each) => each.split('/'))
  return await sql<{ role: string; roleOid: number; readable: string[] }[]>`
    with recursive reached (role, oid) as (
      select r.oid, r.oid from pg_catalog.pg_roles r where r.rolname = any(${roles}::text[])
      union select r.role, m.roleid from reached r join pg_catalog.pg_auth_members m on m.member = r.oid
    ), acted as materialized (
      select r.role, r.oid from reached r where r.role = r.oid or (not pg_catalog.pg_has_role(r.role, r.oid, 'USAGE')
        and (pg_catalog.pg_has_role(r.role, r.oid, 'MEMBER WITH ADMIN OPTION') or pg_catalog.pg_has_role(r.role, r.oid,
          case when pg_catalog.current_setting('server_version_num')::int >= 160000 then 'SET' else 'MEMBER' end)))
    )
    select r.rolname::text as role, r.oid::int8 as "roleOid", array(
      select pg_catalog.concat(w.oid, '/', w.number)
      from unnest(${pairs.map(([oid]) => oid)}::oid[], ${pairs.map(([, number]) => number)}::int2[]) as w(oid, number)
      where exists (select 1 from acted a where a.role = r.oid and case w.number
        when 0 then pg_catalog.has_any_column_privilege(a.oid, w.oid, 'SELECT')
        else pg_catalog.has_column_privilege(a.oid, w.oid, w.number, 'SELECT') end)) as readable
    from pg_catalog.pg_roles r where r.rolname = any(${roles}::text[])`
}
