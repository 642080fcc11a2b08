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
  /** By the error of any write. */
  readonly fails: Failing
  /** By the error of a write that changes rows that are there, beside those. */
  readonly failsOnChange: Failing
}

/** Keys of the rows that errors show: columns of many tables behind many views would be too many. */
interface Failing {
  /** The error has the columns that the role itself may read. */
  readonly own: Set<string>
  /** Every role that may write so is shown all of them. */
  readonly whole: Set<string>
}

/** Masked columns that one error shows together, by a key: those of a table, or of an exclusion constraint. */
export type Rows = ReadonlyMap<string, readonly Source[]>

/** Instead of the number of a column: the privilege to write anything. No column that can be masked has it. */
export const anyWrite = -1
/** The same: the privilege to change or delete rows. */
export const anyChange = -2

/** SELECT on any column of the relation. */
export function anyColumn(oid: number): string {
  return `${oid}/0`
}

/**
 * The use of one relation reads or changes another one: by a view, rule or policy; a TOAST table has its values; UPDATE of an inheritance
 * parent changes its children, and a foreign key with an action the rows that refer to others; an exclusion constraint puts the row that
 * it finds into its error, and so does the server of a foreign table, with all that its own user may read.
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

/** A hostile server names new relations for ever. Each round follows views one level deeper; a fact is a column, privilege or row of a relation. */
const most = { rounds: 10_000, relations: 100_000, facts: 5_000_000 }

/** For every relation the masked columns that are read by its use. `twins`: the twin of each table. Refuses more than a catalog has. */
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
    const edges = (await readEdges(sql, [...changed])).map((edge) => ({
      ...edge,
      // The columns of a twin already tell what it shows of its own table.
      sources: twins.get(edge.oid) === edge.on ? [] : (bySource.get(edge.oid) ?? []),
    }))
    const unclear = edges.flatMap(({ object, sources: own, numbers }) =>
      object !== null && own.some(({ number }) => !numbers.includes(number)) ? [object] : [],
    )
    const takeRows = await findTakingRows(sql, unclear)
    for (const { kind, object, on, oid, numbers, sources: own } of edges) {
      const from = reached.get(oid)
      const isRead = ({ number }: Source) =>
        numbers.includes(number) || (object !== null && takeRows.has(object))
      const read = own.filter(isRead).map(needsOf)
      if (from) read.push(...from.shows, ...from.policies)
      // The twin has no rows of its own.
      const row = (bySource.get(oid) ?? []).filter(({ base }) => base === null)
      const itself = row.length > 0 ? [noteRow(rows, oid, row)] : []
      const to = reached.get(on) ?? emptyReached()
      const writes = `${on}/${anyWrite}`
      const before = facts
      const add = (columns: Columns, more: Iterable<Needing>, needed?: string) => {
        facts += addTo(columns, more, needed)
      }
      const fail = (keys: Set<string>, ...more: Iterable<string>[]) => {
        const size = keys.size
        for (const some of more) for (const key of some) keys.add(key)
        facts += keys.size - size
      }
      const { fails: always = nothingFails, failsOnChange: onChange = nothingFails } = from ?? {}
      switch (kind) {
        // Views and rules read as their owners, policies as the role that reads.
        case 'view':
          add(to.shows, isTwin.has(on) ? read.map(([column]) => [column, []]) : read, anyColumn(on))
          break
        case 'rule':
          add(to.rules, read, writes)
          // It may be any statement, and runs with the rights of its owner.
          fail(to.fails.own, itself, always.own, onChange.own)
          fail(to.fails.whole, always.whole, onChange.whole)
          break
        case 'policy':
          add(to.policies, read)
          break
        case 'toast':
          add(to.shows, read, anyColumn(on))
          break
        // The action runs as the owner of the table that refers: its error has the whole row. Rules of that table run as well.
        case 'key':
          fail(to.failsOnChange.whole, itself, always.own, always.whole, onChange.own, onChange.whole)
          break
        case 'remote':
          fail(to.failsOnChange.whole, itself)
          break
        case 'exclusion': {
          // An expression may have any column.
          const named = numbers.includes(0) ? row : row.filter(({ number }) => numbers.includes(number))
          if (named.length > 0) fail(to.fails.own, [noteRow(rows, oid, named, numbers)])
        }
      }
      // A write to a view is one to its table, with the rights of its owner. Errors have what the role itself may read.
      if (kind === 'view' || kind === 'parent') {
        fail(to.fails.own, always.own)
        fail(to.fails.whole, always.whole)
        fail(to.failsOnChange.own, itself, onChange.own)
        fail(to.failsOnChange.whole, onChange.whole)
      }
      if (kind === 'view' || kind === 'rule') add(to.rules, from?.rules ?? [], writes)
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

/** Returns the key of the row; `numbers`: it is that of a constraint. */
function noteRow(
  rows: Map<string, readonly Source[]>,
  oid: number,
  row: readonly Source[],
  numbers: readonly number[] = [],
): string {
  const key = [oid, ...numbers].join()
  if (!rows.has(key)) rows.set(key, row)
  return key
}

type Needing = readonly [column: string, needs: Iterable<string>]

function needsOf({ column, base, oid, number }: Source): Needing {
  return [column, base === null ? [`${oid}/${number}`] : []]
}

const nothingFails: Failing = { own: new Set(), whole: new Set() }

function emptyReached(): Reached {
  const none = () => ({ own: new Set<string>(), whole: new Set<string>() })
  return { shows: new Map(), rules: new Map(), policies: new Map(), fails: none(), failsOnChange: none() }
}

/** `needed`: instead of what they need where they are from. Returns how much of that was new. */
function addTo(columns: Columns, more: Iterable<Needing>, needed?: string): number {
  let added = 0
  for (const [column, needs] of more) {
    const known = columns.get(column) ?? new Set()
    const before = columns.has(column) ? known.size : -1
    for (const each of needs) known.add(needed ?? each)
    columns.set(column, known)
    added += known.size - before
  }
  return added
}

/** PostgreSQL writes down which columns a rule or policy reads. Of its own table, a view reads none, and a policy the row that it judges. */
async function readEdges(sql: Sql, oids: readonly number[]) {
  return await sql<Edge[]>`
    with read as materialized (
      select classid, objid, refobjid as oid, pg_catalog.array_agg(refobjsubid::int) as numbers from pg_catalog.pg_depend
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
    where i.indisexclusion or k.contype = 'f' and (k.confdeltype in ('c', 'n', 'd') or k.confupdtype in ('c', 'n', 'd'))`
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
