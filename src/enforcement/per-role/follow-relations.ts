import type { Sql } from '../../db/sql.ts'

/** A masked column of a table or of its twin. */
export interface Source {
  readonly oid: number
  /** The table of a twin, otherwise null. */
  readonly base: number | null
  readonly number: number
  readonly attribute: string
  readonly column: string
}

/** Masked columns by name, each with the privileges of which one is enough to read it raw; none: there are masks on every way. */
type Columns = Map<string, Set<string>>

/** Masked columns that PostgreSQL reads for a statement that names a relation, and not the columns. */
export interface Reached {
  /** By the query of a view. */
  readonly shows: Columns
  /** By rules on INSERT, UPDATE and DELETE. */
  readonly rules: Columns
  /** By row policies. */
  readonly policies: Columns
}

/** Instead of the number of a column: the privilege to write anything. No column that can be masked has it. */
export const anyWrite = -1

/** SELECT on any column of the relation. */
export function anyColumn(oid: number): string {
  return `${oid}/0`
}

/** A view, rule or policy reads a relation. */
interface Edge {
  readonly kind: 'view' | 'rule' | 'policy'
  /** The OID of the rule or policy. */
  readonly object: number
  /** The view, or the relation that the rule or policy is on. */
  readonly on: number
  readonly oid: number
  /** Columns that it reads; not those of a row that it reads as a whole. */
  readonly numbers: readonly number[]
}

/** For every relation the masked columns that are read by its use. `twins`: the twin of each table. */
export async function followRelations(
  sql: Sql,
  sources: readonly Source[],
  twins: ReadonlyMap<number, number>,
): Promise<Map<number, Reached>> {
  const reached = new Map<number, Reached>()
  const isTwin = new Set(twins.values())
  const bySource = Map.groupBy(sources, ({ oid }) => oid)
  let changed = new Set(bySource.keys())
  while (changed.size > 0) {
    const next = new Set<number>()
    const edges = (await readEdges(sql, [...changed])).map((edge) => ({
      ...edge,
      // The columns of a twin already tell what it shows of its own table.
      sources: twins.get(edge.oid) === edge.on ? [] : (bySource.get(edge.oid) ?? []),
    }))
    const unclear = edges.filter(({ sources: own, numbers }) =>
      own.some(({ number }) => !numbers.includes(number)),
    )
    const takeRows = await findTakingRows(
      sql,
      unclear.map(({ object }) => object),
    )
    for (const { kind, object, on, oid, numbers, sources: own } of edges) {
      const from = reached.get(oid)
      const read: [column: string, needs: Iterable<string>][] = own
        .filter(({ number }) => numbers.includes(number) || takeRows.has(object))
        .map(({ column, base, number }) => [column, base === null ? [`${oid}/${number}`] : []])
      if (from) read.push(...from.shows, ...from.policies)
      const to = reached.get(on) ?? { shows: new Map(), rules: new Map(), policies: new Map() }
      let isNew = false
      const add = (columns: Columns, more: typeof read, needed?: string) => {
        for (const [column, needs] of more) {
          const known = columns.get(column) ?? new Set()
          const before = columns.has(column) ? known.size : -1
          for (const each of needs) known.add(needed ?? each)
          columns.set(column, known)
          isNew ||= known.size > before
        }
      }
      const writes = `${on}/${anyWrite}`
      // Views and rules read as their owners, policies as the role that reads.
      if (kind === 'policy') add(to.policies, read)
      else if (kind === 'rule') add(to.rules, read, writes)
      else add(to.shows, isTwin.has(on) ? read.map(([column]) => [column, []]) : read, anyColumn(on))
      // A rule may write to another relation with rules, and so does a write to a view.
      if (kind !== 'policy' && from) add(to.rules, [...from.rules], writes)
      if (!isNew) continue
      reached.set(on, to)
      next.add(on)
    }
    changed = next
  }
  return reached
}

/** PostgreSQL writes down which columns a rule or policy reads. Of its own table, a view reads none, and a policy the row that it judges. */
async function readEdges(sql: Sql, oids: readonly number[]) {
  return await sql<Edge[]>`
    with read as materialized (
      select classid, objid, refobjid as oid, pg_catalog.array_agg(refobjsubid::int) as numbers from pg_catalog.pg_depend
      where refclassid = 'pg_catalog.pg_class'::pg_catalog.regclass and refobjid = any(${oids}::oid[]) and classid in (
        'pg_catalog.pg_rewrite'::pg_catalog.regclass, 'pg_catalog.pg_policy'::pg_catalog.regclass) group by 1, 2, 3
    )
    select case w.ev_type when '1' then 'view' else 'rule' end as kind, w.oid::int8 as object, w.ev_class::int8 as on,
      r.oid::int8 as oid, r.numbers
    from read r join pg_catalog.pg_rewrite w on w.oid = r.objid
    where r.classid = 'pg_catalog.pg_rewrite'::pg_catalog.regclass and (w.ev_type <> '1' or w.ev_class <> r.oid)
    union all
    select 'policy', p.oid::int8, p.polrelid::int8, r.oid::int8, r.numbers
    from read r join pg_catalog.pg_policy p on p.oid = r.objid
    where r.classid = 'pg_catalog.pg_policy'::pg_catalog.regclass and p.polrelid <> r.oid`
}

/** Rules and policies with a row as a whole in them. */
async function findTakingRows(sql: Sql, objects: readonly number[]): Promise<Set<number>> {
  if (objects.length === 0) return new Set()
  const rows = await sql<{ oid: number }[]>`
    select oid::int8 as oid from pg_catalog.pg_rewrite where oid = any(${objects}::oid[])
      and (ev_action::text like '%:varattno 0 %' or ev_qual::text like '%:varattno 0 %')
    union select oid::int8 from pg_catalog.pg_policy where oid = any(${objects}::oid[])
      and pg_catalog.concat(polqual::text, polwithcheck::text) like '%:varattno 0 %'`
  return new Set(rows.map(({ oid }) => oid))
}
