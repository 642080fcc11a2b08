import { quoteIdentifier, quoteQualified } from '../../db/quote.ts'
import { aclEntries, revokeFrom, writerEntries } from './acl-entries.ts'
import { type AclEntry, type ExposureKind, kind } from './exposure.ts'
import { selectWholeRow } from './whole-rows.ts'

/**
 * PostgreSQL refuses a duplicate, so trying to write a value tells whether it is there. Keys, expressions and predicates of
 * unique indexes and exclusion constraints count alike: a predicate decides which rows a new one is compared with.
 */
const uniqueOracle = kind<{
  oid: number
  index: string
  keys: readonly number[]
  isKey: boolean
  acl: readonly AclEntry[]
}>({
  code: 'UniqueOracle',
  severity: 'medium',
  read: ({ sql, oids, masked }) => sql`
    select c.oid::int8 as oid, x.indexrelid::regclass::text as index, used.columns as keys,
      exists (select 1 from unnest(x.indkey::int2[]) k join unnest(${masked.flatMap(({ oid, hidden }) => hidden.map(() => oid))}::int8[],
        ${masked.flatMap(({ hidden }) => hidden.map(({ number }) => number))}::int4[]) h(relation, number)
        on h.relation = c.oid::int8 and h.number = k) as "isKey",
      ${writerEntries(sql, sql`used.columns`)} as acl
    from pg_catalog.pg_index x join pg_catalog.pg_class c on c.oid = x.indrelid
    cross join lateral (select array(
      select k::int4 from unnest(x.indkey::int2[]) k where k > 0
      union select d.refobjsubid from pg_catalog.pg_depend d left join pg_catalog.pg_constraint n
        on n.conrelid = x.indrelid and n.conindid = x.indexrelid
      where d.refclassid = 'pg_catalog.pg_class'::regclass and d.refobjid = x.indrelid and d.refobjsubid > 0
        and (d.classid = 'pg_catalog.pg_class'::regclass and d.objid = x.indexrelid
          or d.classid = 'pg_catalog.pg_constraint'::regclass and d.objid = n.oid and n.contype in ('p', 'u', 'x'))
      union ${selectWholeRow(sql, sql`x.indrelid`, sql`concat(x.indexprs, x.indpred)`)}) as columns) used
    where (x.indisunique or x.indisexclusion) and c.oid = any(${oids}::oid[]) order by 1, 2`,
  describe: ({ relation, column, index, isKey, grantees }) => ({
    objects: [relation, { kind: 'index', name: index }],
    explanation: isKey
      ? `The index keeps values of the masked column ${column.name} apart, and these roles may write it: a refused duplicate (or INSERT … ON CONFLICT DO NOTHING that inserts nothing) tells that a guessed value exists, one guess at a time.`
      : `The index covers rows by a condition or an expression of the masked column ${column.name}, and these roles may write its other columns: a refused duplicate tells that the condition holds for a row.`,
    remedy: revokeFrom(grantees, relation.name),
  }),
})

/** PostgreSQL checks the raw value against the new value of another column: a binary search by UPDATE. */
const checkOracle = kind<{ oid: number; name: string; keys: readonly number[]; acl: readonly AclEntry[] }>({
  code: 'CheckOracle',
  severity: 'medium',
  read: ({ sql, oids }) => sql`
    select c.oid::int8 as oid, k.conname::text as name, used.columns as keys,
      ${aclEntries(sql, sql`c.relacl`, ['UPDATE'])} || coalesce((
        select jsonb_agg(g) from pg_catalog.pg_attribute a,
          lateral jsonb_array_elements(${aclEntries(sql, sql`a.attacl`, ['UPDATE'])}) g
        where a.attrelid = c.oid and a.attnum = any(used.columns)), '[]') as acl
    from pg_catalog.pg_constraint k join pg_catalog.pg_class c on c.oid = k.conrelid
    cross join lateral (select array(select u::int4 from unnest(k.conkey) u where u > 0
      union ${selectWholeRow(sql, sql`c.oid`, sql`k.conbin::text`)}) as columns) used
    where k.contype = 'c' and cardinality(used.columns) > 1 and c.oid = any(${oids}::oid[]) order by 1, 2`,
  describe: ({ relation, column, name, grantees }) => ({
    objects: [relation, { kind: 'constraint', name: quoteIdentifier(name) }],
    explanation: `The constraint compares the masked column ${column.name} with other columns of the row, and these roles may update one of them: accepted and refused updates find the value by binary search.`,
    remedy: revokeFrom(grantees, relation.name),
  }),
})

/** PostgreSQL checks a foreign key to a masked column with the rights of the owner. */
const foreignKeyOracle = kind<{
  oid: number
  keys: readonly number[]
  schema: string
  table: string
  owner: string
  name: string
  acl: readonly AclEntry[]
}>({
  code: 'ForeignKeyOracle',
  severity: 'medium',
  read: ({ sql, oids }) => sql`
    select k.confrelid::int8 as oid, array(select unnest(k.confkey)::int4) as keys, n.nspname::text as schema,
      c.relname::text as "table", o.rolname::text as owner, k.conname::text as name, ${writerEntries(sql, sql`k.conkey`)} as acl
    from pg_catalog.pg_constraint k join pg_catalog.pg_class c on c.oid = k.conrelid
    join pg_catalog.pg_namespace n on n.oid = c.relnamespace join pg_catalog.pg_roles o on o.oid = c.relowner
    where k.contype = 'f' and k.confrelid = any(${oids}::oid[]) order by 1, 6`,
  describe: ({ relation, column, schema, table, name, grantees }) => {
    const referencing = quoteQualified(schema, table)
    return {
      objects: [{ kind: 'table', name: referencing }, relation],
      explanation: `The foreign key ${name} refers to the masked column ${column.name}: a role that may write ${referencing} learns from an accepted or a refused row whether a guessed value exists.`,
      remedy: revokeFrom(grantees, referencing),
    }
  },
})

export const oracleKinds: readonly ExposureKind[] = [uniqueOracle, checkOracle, foreignKeyOracle]
