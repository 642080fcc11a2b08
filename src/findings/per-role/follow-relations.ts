import { UnreadableAnswer } from '../../db/guard-answers.ts'
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

/**
 * What PostgreSQL reads for a statement that names a relation, and not the columns. `shows`, `rules` and `policies`
 * are masked columns, read by the query of a view, by rules on writes, by row policies: `16402/3 public.person.mail`,
 * with a privilege that is enough to read it raw, or none where there are masks on this way. `errors` are keys of rows
 * that errors show: `write own 16402` of any write, `change` of one that changes rows that are there; `own` with those
 * columns that the role may read, `whole` to every role that may write so.
 */
export type Reached = Readonly<Record<(typeof ways)[number], Set<string>>>
const ways = ['shows', 'rules', 'policies', 'errors'] as const

/** Masked columns that one error shows together, by a key: those of a table, or of an exclusion constraint. */
export type Rows = ReadonlyMap<string, readonly Source[]>

/** Instead of the number of a column: the privilege to write anything. No column that can be masked has it. */
export const anyWrite = -1
/** The same: the privilege to change or delete rows. */
export const anyChange = -2

/** SELECT on any column of the relation. */
export const anyColumn = (oid: number) => `${oid}/0`

/**
 * The use of one relation reads or changes another one: by a view, rule or policy; a TOAST table has its values;
 * UPDATE of an inheritance parent changes its children, and a foreign key with an action the rows that refer to
 * others; an exclusion constraint puts the row that it finds into its error, and so does the server of a foreign
 * table, with all that its own user may read.
 */
interface Edge {
  readonly kind: 'view' | 'rule' | 'policy' | 'toast' | 'parent' | 'key' | 'exclusion' | 'remote'
  /** The OID of the rule or policy. */
  readonly object: number | null
  /** The relation that is used: the view, or what the rule or policy is on. */
  readonly on: number
  readonly oid: number
  /** Columns that it reads; not those of a row that it reads as a whole. */
  readonly numbers: readonly number[]
}

/**
 * A hostile server names new relations for ever. Each round follows views one level deeper; a fact is a column with a
 * privilege, or a row.
 */
const most = { rounds: 10_000, relations: 100_000, facts: 2_500_000 }

/**
 * For every relation the masked columns that are read by its use. `twins`: the twin of each table. Refuses more than a
 * catalog has.
 */
export async function followRelations(
  sql: Sql,
  sources: readonly Source[],
  twins: ReadonlyMap<number, number>,
): Promise<{ readonly reached: ReadonlyMap<number, Reached>; readonly rows: Rows }> {
  const reached = new Map<number, Reached>()
  const rows = new Map<string, readonly Source[]>()
  const isTwin = new Set(twins.values())
  const bySource = Map.groupBy(sources, ({ oid }) => oid)
  let changed = new Set(bySource.keys())
  let facts = 0
  for (let rounds = 0; changed.size > 0; rounds++) {
    const next = new Set<number>()
    const edges = await readEdges(sql, [...changed])
    // The columns of a twin already tell what it shows of its own table.
    const sourcesOf = ({ oid, on }: Edge) => (twins.get(oid) === on ? [] : (bySource.get(oid) ?? []))
    const unclear = edges.flatMap((edge) =>
      edge.object !== null && sourcesOf(edge).some(({ number }) => !edge.numbers.includes(number))
        ? [edge.object]
        : [],
    )
    const takeRows = await findTakingRows(sql, unclear)
    for (const edge of edges) {
      const { object, on, oid, numbers } = edge
      const takesRow = object !== null && takeRows.has(object)
      const read = sourcesOf(edge).filter(({ number }) => takesRow || numbers.includes(number))
      const to = reached.get(on) ?? (Object.fromEntries(ways.map((way) => [way, new Set()])) as Reached)
      const before = facts
      const add: Add = (way, ...more) => {
        const size = to[way].size
        for (const some of more) for (const one of some) to[way].add(one)
        facts += to[way].size - size
      }
      passOn(edge, read.map(writeFact), reached.get(oid), noteRows(rows, edge, bySource), isTwin.has(on), add)
      if (facts === before) continue
      reached.set(on, to)
      if (facts > most.facts || reached.size > most.relations || rounds > most.rounds)
        throw new UnreadableAnswer()
      next.add(on)
    }
    changed = next
  }
  return { reached, rows }
}

type Add = (way: (typeof ways)[number], ...more: Iterable<string>[]) => void

/** `read`: masked columns of the relation itself. `row`: as `errors` have its row, or that of an exclusion constraint. */
function passOn(
  { kind, on }: Edge,
  read: readonly string[],
  from: Reached | undefined,
  row: readonly string[],
  isTwin: boolean,
  add: Add,
): void {
  const { shows = [], rules = [], policies = [], errors = [] } = from ?? {}
  const all = [...read, ...shows, ...policies]
  // Views and rules read as their owners, policies as the role that reads.
  if (kind === 'view')
    add('shows', isTwin ? all.map((fact) => needing(fact, '')) : asReaders(all, anyColumn(on)))
  if (kind === 'toast') add('shows', asReaders(all, anyColumn(on)))
  if (kind === 'policy') add('policies', all)
  if (kind === 'view' || kind === 'rule') add('rules', asReaders([...rules], `${on}/${anyWrite}`))
  if (kind === 'rule') add('rules', asReaders(all, `${on}/${anyWrite}`))
  const shown = [...errors, ...row]
  // A rule may be any statement, and runs with the rights of its owner.
  if (kind === 'rule') add('errors', shown.map(ofAnyWrite))
  if (kind === 'exclusion') add('errors', row.map(ofAnyWrite))
  // The action of a key runs as the owner of the table that refers: its error has the whole row. So do rules of that
  // table.
  if (kind === 'key') add('errors', shown.map(ofWholeRow))
  if (kind === 'remote') add('errors', row.map(ofWholeRow))
  // A write to a view is one to its table, with the rights of its owner. Errors have what the role itself may read.
  if (kind === 'view' || kind === 'parent') add('errors', shown)
}

const ofAnyWrite = (error: string) => error.replace('change', 'write')
const ofWholeRow = (error: string) => error.replace(/^\w+ \w+/, 'change whole')

const asReaders = (facts: readonly string[], need: string) =>
  facts.map((fact) => (fact.startsWith(' ') ? fact : needing(fact, need)))

const needing = (fact: string, need: string) => need + fact.slice(fact.indexOf(' '))

const writeFact = ({ column, base, oid, number }: Source) =>
  `${base === null ? `${oid}/${number}` : ''} ${column}`

/** Returns the row that an error of this use shows; none: it has no masked column, or is that of a twin. */
function noteRows(
  rows: Map<string, readonly Source[]>,
  { kind, oid, numbers }: Edge,
  bySource: ReadonlyMap<number, readonly Source[]>,
): string[] {
  const row = (bySource.get(oid) ?? []).filter(({ base }) => base === null)
  const isPart = kind === 'exclusion'
  // An expression of an exclusion constraint may have any column.
  const named = isPart && !numbers.includes(0) ? row.filter(({ number }) => numbers.includes(number)) : row
  if (named.length === 0) return []
  const key = [oid, ...(isPart ? numbers : [])].join()
  if (!rows.has(key)) rows.set(key, named)
  return [`change own ${key}`]
}

/**
 * PostgreSQL writes down which columns a rule or policy reads. Of its own table, a view reads none, and a policy the
 * row that it judges.
 */
async function readEdges(sql: Sql, oids: readonly number[]) {
  return await sql<Edge[]>`
    with read as materialized (
      select classid, objid, refobjid as oid, pg_catalog.array_agg(refobjsubid::int) as numbers
      from pg_catalog.pg_depend
      where refclassid = 'pg_catalog.pg_class'::pg_catalog.regclass and refobjid = any(${oids}::oid[]) and classid in (
        'pg_catalog.pg_rewrite'::pg_catalog.regclass, 'pg_catalog.pg_policy'::pg_catalog.regclass) group by 1, 2, 3
    ), tables as materialized (
      select oid, reltoastrelid, relkind from pg_catalog.pg_class where oid = any(${oids}::oid[]) and relkind <> 'v'
    )
    select case w.ev_type when '1' then 'view' else 'rule' end as kind, w.oid::int8 as object, w.ev_class::int8 as on,
      r.oid::int8 as oid, r.numbers
    from read r join pg_catalog.pg_rewrite w on w.oid = r.objid
    where r.classid = 'pg_catalog.pg_rewrite'::pg_catalog.regclass and (w.ev_type <> '1' or w.ev_class <> r.oid)
    union all
    select 'policy', p.oid::int8, p.polrelid::int8, r.oid::int8, r.numbers
    from read r join pg_catalog.pg_policy p on p.oid = r.objid
    where r.classid = 'pg_catalog.pg_policy'::pg_catalog.regclass and p.polrelid <> r.oid
    union all
    -- Values that were stored before a change of the storage stay where they are.
    select 'toast', null, t.reltoastrelid::int8, t.oid::int8, array(select a.attnum::int from pg_catalog.pg_attribute a
      where a.attrelid = t.oid and a.attnum > 0 and a.attlen = -1)
    from tables t where t.reltoastrelid <> 0
    union all
    select 'remote', null, t.oid::int8, t.oid::int8, '{}' from tables t where t.relkind = 'f'
    union all
    select 'parent', null, i.inhparent::int8, t.oid::int8, '{}'
    from tables t join pg_catalog.pg_inherits i on i.inhrelid = t.oid
    union all
    select case k.contype when 'f' then 'key' else 'exclusion' end, null,
      case k.contype when 'f' then k.confrelid else t.oid end::int8, t.oid::int8, k.conkey::int[]
    from tables t join pg_catalog.pg_constraint k on k.conrelid = t.oid
    left join pg_catalog.pg_index i on i.indexrelid = k.conindid and k.contype in ('p', 'u', 'x')
    -- A key WITHOUT OVERLAPS is an exclusion constraint, too.
    where i.indisexclusion or k.contype = 'f'
      and (k.confdeltype in ('c', 'n', 'd') or k.confupdtype in ('c', 'n', 'd'))`
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
