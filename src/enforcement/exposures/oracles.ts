import { quoteQualified } from '../../db/quote.ts'
import { revokeFrom, writerEntries } from './acl-entries.ts'
import { type AclEntry, type ExposureKind, kind } from './exposure.ts'

/** PostgreSQL refuses a duplicate, so trying to write a value tells whether it is there. */
const uniqueOracle = kind<{
  oid: number
  index: string
  keys: readonly number[]
  acl: readonly AclEntry[]
}>({
  code: 'UniqueOracle',
  severity: 'medium',
  read: ({ sql, oids }) => sql`
    select c.oid::int8 as oid, x.indexrelid::regclass::text as index, array(select unnest(x.indkey)::int4) as keys,
      ${writerEntries(sql, sql`x.indkey`)} as acl
    from pg_catalog.pg_index x join pg_catalog.pg_class c on c.oid = x.indrelid
    where (x.indisunique or x.indisexclusion) and c.oid = any(${oids}::oid[]) order by 1, 2`,
  describe: ({ relation, column, index, grantees }) => ({
    objects: [relation, { kind: 'index', name: index }],
    explanation: `The index keeps values of the masked column ${column.name} apart, and these roles may write it: a refused duplicate (or INSERT … ON CONFLICT DO NOTHING that inserts nothing) tells that a guessed value exists, one guess at a time.`,
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

export const oracleKinds: readonly ExposureKind[] = [uniqueOracle, foreignKeyOracle]
