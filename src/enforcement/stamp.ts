import type { Sql } from '../db/sql.ts'

/** Tells whether a relation is where its names say, and was all the time. */
export interface Stamp {
  /** The schema, by oid. */
  readonly schema: number
  /** The version of the schema's row: it is another one after each renaming, also after one back. */
  readonly schemaVersion: string
  /** The version of the relation's row. */
  readonly version: string
  /** The role, by oid. */
  readonly owner: number
}

export function selectStamp(sql: Sql) {
  return sql`pg_catalog.jsonb_build_object('schema', n.oid::int8, 'schemaVersion', n.xmin::text, 'version', c.xmin::text,
    'owner', c.relowner::int8)`
}
