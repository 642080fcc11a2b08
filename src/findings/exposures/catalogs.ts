import { quoteIdentifier, quoteQualified } from '../../db/quote.ts'
import { type AclEntry, type ExposureKind, kind } from './exposure.ts'
import { aclEntries, revokeFrom } from './grantees.ts'

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

/** The bounds of partitions are in the catalog, which every role reads. */
const partitionBounds = kind<{ oid: number; keys: readonly number[] }>({
  code: 'PartitionBounds',
  severity: 'low',
  meaning: 'bounds of partitions show values of a masked column',
  read: ({ sql, oids }) => sql`
    select partrelid::int8 as oid, array(select unnest(partattrs)::int4) as keys
    from pg_catalog.pg_partitioned_table where partrelid = any(${oids}::oid[]) order by 1`,
  describe: ({ relation, column }, { watched }) => ({
    objects: [relation],
    roles: watched,
    explanation: [
      `The table is partitioned by the masked column ${column.name}. Every role may read the bounds of partitions,`,
      'and which partition holds a row: this tells the range or list of its value. Partition by another column.',
    ],
  }),
})

/** A column that was added with a default has the value for older rows in the catalog, until the table is rewritten. */
const missingValue = kind<{ oid: number; keys: readonly number[] }>({
  code: 'MissingValue',
  severity: 'low',
  meaning: 'pg_attribute shows every role the default of a masked column for older rows',
  read: ({ sql, oids }) => sql`
    select attrelid::int8 as oid, pg_catalog.array_agg(attnum::int4 order by attnum) as keys
    from pg_catalog.pg_attribute
    where attrelid = any(${oids}::oid[]) and atthasmissing and not attisdropped group by 1 order by 1`,
  describe: ({ relation, column }, { watched }) => ({
    objects: [relation],
    roles: watched,
    explanation: [
      `The masked column ${column.name} was added with a default, and pg_attribute, which every role may read,`,
      'has it for the rows from before, until the table is rewritten.',
      'A default that the column still has is in the catalog as well.',
    ],
    remedy: `VACUUM FULL ${relation.name}`,
  }),
})

/** A sequence tells the newest value that it gave: by itself, by pg_sequences, or by the next one. */
const sequenceValues = kind<{ oid: number; keys: number[]; sequence: string; acl: AclEntry[] }>({
  code: 'SequenceValues',
  severity: 'low',
  meaning: 'a role reads the newest value of a masked column from its sequence',
  read: ({ sql, oids }) => sql`
    select u.oid::int8 as oid, array[u.number]::int4[] as keys, s.oid::regclass::text as sequence,
      ${aclEntries(sql, sql`s.relacl`, ['SELECT', 'USAGE', 'UPDATE'])} as acl
    from (
      select d.refobjid as oid, d.refobjsubid as number, d.objid as sequence from pg_catalog.pg_depend d
      where d.classid = 'pg_catalog.pg_class'::regclass and d.refclassid = 'pg_catalog.pg_class'::regclass
        and d.deptype in ('a', 'i') and d.refobjsubid > 0 and d.refobjid = any(${oids}::oid[])
      union
      select e.adrelid, e.adnum, d.refobjid from pg_catalog.pg_attrdef e join pg_catalog.pg_depend d
        on d.classid = 'pg_catalog.pg_attrdef'::regclass and d.objid = e.oid
        and d.refclassid = 'pg_catalog.pg_class'::regclass
      where e.adrelid = any(${oids}::oid[])
    ) u join pg_catalog.pg_class s on s.oid = u.sequence and s.relkind = 'S' order by 1, 3`,
  describe: ({ relation, column, sequence, grantees }) => ({
    objects: [{ kind: 'sequence', name: sequence }, relation],
    explanation: [
      `The sequence gives the masked column ${column.name} its values, and tells these roles the newest one.`,
      'Roles that insert without a value for a serial column need USAGE; an identity column needs none.',
    ],
    remedy: revokeFrom(grantees, `SEQUENCE ${sequence}`),
  }),
})

export const catalogKinds: readonly ExposureKind[] = [
  publication,
  extendedStatistics,
  partitionBounds,
  missingValue,
  sequenceValues,
]
