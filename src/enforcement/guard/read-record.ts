import type { Sql } from '../../db/sql.ts'
import { guardSchema } from '../names.ts'

export interface GuardRecord {
  /** Differs whenever the record was rewritten with other contents. */
  readonly version: string
  /** Roles that are exempt, as it was last enforced. */
  readonly exempt: readonly string[]
}

const nothing: GuardRecord = { version: '', exempt: [] }

/** Reads the record in the database of what a node enforced there last. */
export async function readRecord(sql: Sql): Promise<GuardRecord> {
  const [found] = await sql<{ there: boolean }[]>`
    select pg_catalog.to_regclass(${`${guardSchema}.relation`}) is not null as there`
  if (!found?.there) return nothing
  const [row] = await sql<GuardRecord[]>`
    select p.exempt, concat_ws('/', r.rows, r.oids, r.times, p.exempt::text) as version
    from ${sql(guardSchema)}.policy p, (
      select count(*) as rows, sum(oid::int8) as oids, sum(extract(epoch from updated_at)) as times
      from ${sql(guardSchema)}.relation) r`
  return row ?? nothing
}
