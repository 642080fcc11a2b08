import { quoteIdentifier, quoteQualified } from '../../db/quote.ts'
import { revokeFrom, writerEntries } from './acl-entries.ts'
import { type AclEntry, type ExposureKind, kind } from './exposure.ts'
import { expressionOracle } from './expression-oracle.ts'
import {
  type Expression,
  findOpenings,
  nameColumns,
  type Opening,
  readExpressions,
  readSources,
} from './expressions.ts'
import { joinStatements } from './role-book.ts'
import { treeText } from './stored-trees.ts'
import { selectWholeRow } from './whole-rows.ts'
import { addWriters, type Writers } from './writers.ts'

interface IndexRow extends Expression {
  /** Numbers of columns that it has as such, not in an expression. */
  readonly indexed: readonly number[]
}

/**
 * PostgreSQL refuses a duplicate, so trying to write a value tells whether it is there. Keys, expressions and predicates of
 * unique indexes and exclusion constraints count alike: a predicate decides which rows a new one is compared with.
 */
const uniqueOracle = kind<IndexRow & Writers & { keys: readonly number[]; isKey: boolean }>({
  code: 'UniqueOracle',
  severity: 'medium',
  async read(scene) {
    const { sql, oids } = scene
    const rows = await sql<IndexRow[]>`
      select c.oid::int8 as oid, 'index' as kind, x.indexrelid::regclass::text as name,
        ${nameColumns(sql, sql`c.oid`, sql`used.columns`)} as columns,
        array(select k::int4 from unnest(x.indkey::int2[]) k) as indexed
      from pg_catalog.pg_index x join pg_catalog.pg_class c on c.oid = x.indrelid
      cross join lateral (select array(
        select k::int4 from unnest(x.indkey::int2[]) k where k > 0
        union select d.refobjsubid from pg_catalog.pg_depend d left join pg_catalog.pg_constraint n
          on n.conrelid = x.indrelid and n.conindid = x.indexrelid
        where d.refclassid = 'pg_catalog.pg_class'::regclass and d.refobjid = x.indrelid and d.refobjsubid > 0
          and (d.classid = 'pg_catalog.pg_class'::regclass and d.objid = x.indexrelid
            or d.classid = 'pg_catalog.pg_constraint'::regclass and d.objid = n.oid and n.contype in ('p', 'u', 'x'))
        union ${selectWholeRow(sql, sql`x.indrelid`, treeText(sql, sql`x.indexprs`, sql`x.indpred`))}) as columns) used
      where (x.indisunique or x.indisexclusion) and c.oid = any(${oids}::oid[]) order by 1, 3`
    const withSources = await readSources(scene)
    const written = rows.flatMap((row) => {
      const hidden = scene.byOid.get(row.oid)?.hidden.map(({ number }) => number) ?? []
      const keys = row.columns.map(({ number }) => number)
      const isKey = row.indexed.some((number) => hidden.includes(number))
      const others = withSources(row).columns
      return keys.some((key) => hidden.includes(key)) ? [{ ...row, keys, isKey, others }] : []
    })
    return addWriters(scene, written, ['INSERT', 'UPDATE'])
  },
  describe: ({ relation, column, name, isKey, remedies }) => ({
    objects: [relation, { kind: 'index', name }],
    explanation: isKey
      ? `The index keeps values of the masked column ${column.name} apart, and these roles may write it: a refused duplicate (or INSERT … ON CONFLICT DO NOTHING that inserts nothing) tells that a guessed value exists, one guess at a time.`
      : `The index covers rows by a condition or an expression of the masked column ${column.name}, and these roles may write its other columns: a refused duplicate tells that the condition holds for a row.`,
    remedy: joinStatements(remedies),
  }),
})

/** PostgreSQL checks the raw value against the new value of another column: a binary search by UPDATE. */
const checkOracle = kind<Opening & Writers & { keys: readonly number[] }>({
  code: 'CheckOracle',
  severity: 'medium',
  async read(scene) {
    const { sql } = scene
    const checks = await readExpressions(
      scene,
      sql`select conrelid as oid, 'constraint' as kind, conname::text as name, ${treeText(sql, sql`conbin`)} as tree
        from pg_catalog.pg_constraint where contype = 'c'`,
    )
    const found = await addWriters(scene, await findOpenings(scene, checks), ['UPDATE'])
    return found.map((row) => ({ ...row, keys: row.columns.map(({ number }) => number) }))
  },
  describe: ({ relation, column, name, remedies }) => ({
    objects: [relation, { kind: 'constraint', name: quoteIdentifier(name) }],
    explanation: `The constraint compares the masked column ${column.name} with other columns of the row, and these roles may update one of them: accepted and refused updates find the value by binary search, and an error of the condition can show it.`,
    remedy: joinStatements(remedies),
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

export const oracleKinds: readonly ExposureKind[] = [
  uniqueOracle,
  checkOracle,
  expressionOracle,
  foreignKeyOracle,
]
