import type { Sql } from '../db/sql.ts'
import { isOn } from './read-relations.ts'
import type { UnreadView } from './view-facts.ts'
import { selectReads } from './view-flood.ts'

/** The little that is known of views whose turn may come another time. */
export async function readUnread(tx: Sql, oids: readonly number[]): Promise<UnreadView[]> {
  if (oids.length === 0) return []
  return await tx<UnreadView[]>`
    select c.oid::int8 as oid, pg_catalog.format('%I.%I', n.nspname, c.relname) as name,
      ${isOn(tx, 'security_invoker')} or c.relkind = 'm' and c.relispopulated as "isPassing", ${selectReads(tx)} as reads
    from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace where c.oid = any(${oids}::oid[])`
}
