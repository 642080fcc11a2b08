import { quoteIdentifier } from '../../db/quote.ts'
import type { Exposure, ExposureClass } from './exposure.ts'
import { joinStatements } from './role-book.ts'

interface PublicationRow {
  readonly publication: string
  readonly oid: number
  /** Null: all of them. */
  readonly columns: readonly string[] | null
  readonly all: boolean
  readonly schema: string
  readonly listed: boolean
}

/** What is published arrives raw at every subscriber. */
export const publications: ExposureClass = {
  code: 'Publication',
  async find({ sql, masked, byOid, book }) {
    const rows = await sql<PublicationRow[]>`
      select p.pubname::text as publication, c.oid::int8 as oid, p.puballtables as all, t.schemaname::text as schema,
        (select array_agg(x) from jsonb_array_elements_text(nullif(to_jsonb(t) -> 'attnames', 'null')) x) as columns,
        exists (select 1 from pg_catalog.pg_publication_rel r where r.prpubid = p.oid and r.prrelid = c.oid) as listed
      from pg_catalog.pg_publication_tables t
      join pg_catalog.pg_publication p on p.pubname = t.pubname
      join pg_catalog.pg_namespace n on n.nspname = t.schemaname
      join pg_catalog.pg_class c on c.relnamespace = n.oid and c.relname = t.tablename
      where c.oid = any(${masked.map(({ oid }) => oid)}::oid[]) order by 1, 2`
    return rows.flatMap((row): Exposure[] => {
      const relation = byOid.get(row.oid)
      const shown = relation?.hidden.filter(({ name }) => row.columns?.includes(name) ?? true) ?? []
      if (!relation || shown.length === 0) return []
      const publication = quoteIdentifier(row.publication)
      const remedy = row.all
        ? `DROP PUBLICATION ${publication}`
        : row.listed
          ? `ALTER PUBLICATION ${publication} DROP TABLE ${relation.name}`
          : `ALTER PUBLICATION ${publication} DROP TABLES IN SCHEMA ${quoteIdentifier(row.schema)}`
      return [
        {
          code: 'Publication',
          severity: 'medium',
          objects: [
            { kind: 'publication', name: publication },
            { kind: relation.kind, name: relation.name },
          ],
          roles: book.watched.filter((role) => book.roles.get(role)?.replication),
          explanation: `The publication carries ${shown.map(({ name }) => name).join(', ')} raw to every subscriber, where these masks do not exist. Publish without these columns, or mask the subscribers' databases too.`,
          remedy: joinStatements([remedy]),
          rule: null,
        },
      ]
    })
  },
}
