import { quoteIdentifier, quoteQualified } from '../../db/quote.ts'
import { type ExposureKind, kind } from './exposure.ts'

/** A published column arrives raw at every subscriber. */
const publication = kind<{
  oid: number
  keys: number[]
  name: string
  all: boolean
  schema: string
  listed: boolean
}>({
  code: 'Publication',
  severity: 'medium',
  meaning: 'subscribers get raw values',
  // pg_publication_tables locks every published table since 16, and another role may hold a lock on one.
  read: ({ sql, version, oids }) => {
    // Up to 14 a publication has neither lists of columns nor schemas.
    const columns = version >= 150000 ? sql`l.prattrs::int2[]` : sql`null::int2[]`
    const inSchema = sql`union all select s.pnpubid, k.oid from pg_catalog.pg_publication_namespace s
      join pg_catalog.pg_class k on k.relnamespace = s.pnnspid`
    return sql`
    with published as materialized (
      select prpubid as publication, prrelid as relation from pg_catalog.pg_publication_rel
      ${version >= 150000 ? inSchema : sql``}
    )
    select p.pubname::text as name, c.oid::int8 as oid, p.puballtables as all, n.nspname::text as schema,
      l.oid is not null as listed,
      array(select a.attnum::int4 from pg_catalog.pg_attribute a where a.attrelid = c.oid and a.attnum > 0
        and not a.attisdropped and coalesce(a.attnum = any(${columns}), true)) as keys
    from pg_catalog.pg_publication p
    join pg_catalog.pg_class c on c.oid = any(${oids}::oid[]) and c.relkind in ('r', 'p') and c.relpersistence = 'p'
    join pg_catalog.pg_namespace n on n.oid = c.relnamespace
    left join pg_catalog.pg_publication_rel l on l.prpubid = p.oid and l.prrelid = c.oid
    where p.puballtables or exists (select from published x where x.publication = p.oid
      and (x.relation = c.oid or x.relation in (select relid from pg_catalog.pg_partition_ancestors(c.oid))))
    order by 1, 2`
  },
  describe: ({ relation, keys, name, all, schema, listed }) => {
    const own = quoteIdentifier(name)
    const shown = relation.hidden.filter(({ number }) => keys.includes(number))
    const withoutTable = listed
      ? `ALTER PUBLICATION ${own} DROP TABLE ${relation.name}`
      : `ALTER PUBLICATION ${own} DROP TABLES IN SCHEMA ${quoteIdentifier(schema)}`
    return {
      objects: [{ kind: 'publication', name: own }, relation],
      explanation: [
        `The publication carries ${shown.map((column) => column.name).join(', ')} raw to every subscriber,`,
        "where these masks do not exist. Publish without these columns, or mask the subscribers' databases too.",
      ],
      remedy: all ? `DROP PUBLICATION ${own}` : withoutTable,
    }
  },
})

/**
 * Extended statistics hold samples of values. Current servers show them to the owner of the table alone, but a database
 * that was made before the fix keeps the old views until an operator replaces them.
 */
const extendedStatistics = kind<{ oid: number; schema: string; name: string }>({
  code: 'ExtendedStatistics',
  severity: 'high',
  meaning: 'the database has the views from before the fix of CVE-2024-4317',
  read: ({ sql, oids }) => sql`
    select s.stxrelid::int8 as oid, n.nspname::text as schema, s.stxname::text as name
    from pg_catalog.pg_statistic_ext s join pg_catalog.pg_namespace n on n.oid = s.stxnamespace
    where s.stxrelid = any(${oids}::oid[])
      and pg_catalog.has_table_privilege('public', 'pg_catalog.pg_stats_ext_exprs', 'SELECT')
      and pg_catalog.pg_get_viewdef('pg_catalog.pg_stats_ext_exprs'::regclass) !~ 'pg_has_role'
    order by 1, 3`,
  describe: ({ relation, schema, name }, { watched }) => ({
    objects: [{ kind: 'statistics', name: quoteQualified(schema, name) }, relation],
    roles: watched,
    explanation: [
      'This database was made by a server whose views of extended statistics show sampled values to every role',
      '(CVE-2024-4317), and the views were never replaced. The server brings fix-CVE-2024-4317.sql for that.',
    ],
    remedy: `DROP STATISTICS ${quoteQualified(schema, name)}`,
  }),
})

export const catalogKinds: readonly ExposureKind[] = [publication, extendedStatistics]
