import type { Query, Row, Sql } from '../db/sql.ts'
import { sqlstate } from '../kernel/sqlstate.ts'

export interface FoundRelation {
  readonly oid: number
  /** By OID. */
  readonly owner: number
  /** Null: it is neither a view nor a materialized view. */
  readonly view: {
    readonly name: string
    readonly isOfSuperuser: boolean
    readonly columns: number
    /** Of the lists of privileges of the view and its columns, as stored, and of its twin, which has the same owner. */
    readonly aclBytes: number
  } | null
}

/**
 * Measures a view before anything of it is read: 1,600 columns with grants to many roles become megabytes of answers. `twin`: the OID of its
 * twin, an expression.
 */
export function measureView(tx: Sql, twin: Query<Row[]> = tx`null::oid`) {
  return tx`case when c.relkind in ('v', 'm') then jsonb_build_object('name', format('%I.%I', n.nspname, c.relname),
    'isOfSuperuser', coalesce((select rolsuper from pg_catalog.pg_roles where oid = c.relowner), false), 'columns', c.relnatts,
    'aclBytes', (select pg_catalog.sum(coalesce(pg_catalog.pg_column_size(m.relacl), 0) + coalesce((
        select pg_catalog.sum(pg_catalog.pg_column_size(a.attacl)) from pg_catalog.pg_attribute a
        where a.attrelid = m.oid and a.attnum > 0 and a.attacl is not null), 0))
      from pg_catalog.pg_class m where m.oid in (c.oid, ${twin}))) end`
}

/** Of the relation `c`: what its rules read, by oid. */
export function selectReads(tx: Sql) {
  return tx`array(select distinct d.refobjid::int8 from pg_catalog.pg_depend d join pg_catalog.pg_rewrite w on w.oid = d.objid
    where w.ev_class = c.oid and d.classid = 'pg_catalog.pg_rewrite'::regclass
      and d.refclassid = 'pg_catalog.pg_class'::regclass and d.refobjid <> c.oid)`
}

/** More is not read and changed at once: a masked role could hold up everything else by its views. */
const mostViews = 200
const mostColumns = 20_000
const mostAclBytes = 1_048_576

/** Fails where views of roles other than the owners of tables take too long to be read, so that all else is closed before. */
export function refuseFlood(found: readonly FoundRelation[]): void {
  const owners = new Set(found.filter(({ view }) => view === null).map(({ owner }) => owner))
  const foreign = found.filter(({ view, owner }) => view && !view.isOfSuperuser && !owners.has(owner))
  if (foreign.length > mostViews) throw overLimit('other roles have too many views of masked tables')
  if (listUnread(foreign).length > 0) throw overLimit('views of other roles over masked tables are too wide')
}

/** Those of the views that are left out when the others are read, the widest: they would take more time and memory than there is. */
export function listUnread(views: readonly FoundRelation[]): FoundRelation[] {
  const sizeOf = ({ view }: FoundRelation) =>
    view ? view.columns / mostColumns + view.aclBytes / mostAclBytes : 0
  let size = 0
  return views
    .toSorted((one, other) => sizeOf(one) - sizeOf(other))
    .filter((one) => {
      size += sizeOf(one)
      return size > 1
    })
}

export function overLimit(message: string): Error {
  return Object.assign(new Error(message), { code: sqlstate.programLimitExceeded })
}
