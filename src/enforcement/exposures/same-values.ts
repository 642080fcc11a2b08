import { quoteIdentifier, quoteQualified } from '../../db/quote.ts'
import { findStrangers, type Given, givenAsJson } from './acl-entries.ts'
import type { Exposure, ExposureClass, MaskedRelation, Scene, Severity } from './exposure.ts'

interface Twofold {
  readonly masked: number
  readonly maskedColumn: number
  readonly other: number
  readonly schema: string
  readonly table: string
  readonly column: string
  readonly number: number
  readonly owner: string
  readonly given: readonly Given[]
}

interface SameValues {
  readonly code: string
  readonly severity: Severity
  rows(scene: Scene, oids: readonly number[]): Promise<Twofold[]>
  explain(masked: string, other: string): string
}

/** Columns elsewhere that hold what a mask hides, and can be read. A mask on them is what closes it. */
const classes: readonly SameValues[] = [
  {
    code: 'GeneratedColumn',
    severity: 'high',
    explain: (masked, other) =>
      `${other} is a generated column computed from the masked column ${masked}: reading it gives what the mask hides, or a part of it.`,
    // Up to 14 the column itself depends on what it is computed from; since, its expression does.
    rows: async ({ sql }, oids) =>
      await sql<Twofold[]>`
      select distinct d.refobjid::int8 as masked, d.refobjsubid as "maskedColumn", ${otherColumns(sql)}
      from pg_catalog.pg_depend d
      join pg_catalog.pg_attrdef e on (d.classid = 'pg_catalog.pg_attrdef'::regclass and d.objid = e.oid)
        or (d.classid = 'pg_catalog.pg_class'::regclass and d.objid = e.adrelid and d.objsubid = e.adnum)
      join pg_catalog.pg_attribute a on a.attrelid = e.adrelid and a.attnum = e.adnum and a.attgenerated <> ''
      ${otherTables(sql)}
      where d.refclassid = 'pg_catalog.pg_class'::regclass and d.refobjid = any(${oids}::oid[])
        and d.refobjid = a.attrelid and d.refobjsubid <> a.attnum and d.refobjsubid > 0`,
  },
  {
    code: 'ForeignKeyCopy',
    severity: 'high',
    explain: (masked, other) =>
      `A foreign key ties ${other} to the masked column ${masked}: both hold the same values, and ${other} shows them.`,
    rows: async ({ sql }, oids) =>
      await sql<Twofold[]>`
      select distinct p.masked::int8 as masked, p.masked_column::int4 as "maskedColumn", ${otherColumns(sql)}
      from pg_catalog.pg_constraint k
      cross join lateral unnest(k.conkey, k.confkey) as u(near, far)
      cross join lateral (values (k.conrelid, u.near, k.confrelid, u.far), (k.confrelid, u.far, k.conrelid, u.near))
        as p(masked, masked_column, other, other_column)
      join pg_catalog.pg_attribute a on a.attrelid = p.other and a.attnum = p.other_column
      ${otherTables(sql)}
      where k.contype = 'f' and p.masked = any(${oids}::oid[])`,
  },
  {
    code: 'PossibleCopy',
    severity: 'low',
    explain: (masked, other) =>
      `${other} has the name and the type of the masked column ${masked}. If it holds the same values, they can be read there.`,
    rows: async ({ sql, masked }, oids) =>
      await sql<Twofold[]>`
      with hidden as materialized (
        select relation, number from unnest(${hiddenOids(masked)}::oid[], ${hiddenNumbers(masked)}::int2[]) as h(relation, number)
      ), named as materialized (
        select distinct on (b.attname, b.atttypid) b.* from hidden h
        join pg_catalog.pg_attribute b on b.attrelid = h.relation and b.attnum = h.number
        where b.attrelid = any(${oids}::oid[]) order by b.attname, b.atttypid, b.attrelid
      )
      select b.attrelid::int8 as masked, b.attnum::int4 as "maskedColumn", ${otherColumns(sql)}
      from named b
      join pg_catalog.pg_attribute a on a.attname = b.attname and a.atttypid = b.atttypid and a.attrelid <> b.attrelid
        and a.attnum > 0 and not a.attisdropped
      ${otherTables(sql)}
      where not exists (select 1 from hidden h where h.relation = a.attrelid and h.number = a.attnum)
        and c.relkind in ('r', 'p', 'm', 'f') and c.relpersistence <> 't'
        and n.nspname !~ '^(pg_|information_schema$|masquerade_guard$)'
        and not exists (select 1 from pg_catalog.pg_inherits i where i.inhrelid = c.oid)
        and not exists (select 1 from pg_catalog.pg_inherits i where i.inhparent = c.oid and i.inhrelid = b.attrelid)
        and not exists (select 1 from pg_catalog.pg_constraint k where k.contype = 'f'
          and (k.conrelid, k.confrelid) in ((a.attrelid, b.attrelid), (b.attrelid, a.attrelid)))`,
  },
]

const hiddenOids = (masked: readonly MaskedRelation[]) =>
  masked.flatMap(({ oid, hidden }) => hidden.map(() => oid))
const hiddenNumbers = (masked: readonly MaskedRelation[]) =>
  masked.flatMap(({ hidden }) => hidden.map(({ number }) => number))

const otherColumns = (sql: Scene['sql']) => sql`
  c.oid::int8 as other, n.nspname::text as schema, c.relname::text as "table", a.attname::text as "column",
  a.attnum::int4 as number, o.rolname::text as owner,
  ${givenAsJson(sql, sql`c.relacl`, ['SELECT'])} || ${givenAsJson(sql, sql`a.attacl`, ['SELECT'])} as given`

const otherTables = (sql: Scene['sql']) => sql`
  join pg_catalog.pg_class c on c.oid = a.attrelid
  join pg_catalog.pg_namespace n on n.oid = c.relnamespace join pg_catalog.pg_roles o on o.oid = c.relowner`

export const sameValues: readonly ExposureClass[] = classes.map(({ code, severity, rows, explain }) => ({
  code,
  async find(scene) {
    const { masked, byOid } = scene
    const tables = masked.filter(({ hasRules }) => hasRules).map(({ oid }) => oid)
    const found = new Map<string, Exposure>()
    for (const row of await rows(scene, tables)) {
      const relation = byOid.get(row.masked)
      const column = relation?.hidden.find(({ number }) => number === row.maskedColumn)
      if (!relation || !column) continue
      if (byOid.get(row.other)?.hidden.some(({ number }) => number === row.number)) continue
      const strangers = findStrangers(scene, row.given, row.owner)
      if (!strangers) continue
      const other = `${quoteQualified(row.schema, row.table)}.${quoteIdentifier(row.column)}`
      found.set(other, {
        code,
        severity,
        objects: [{ kind: 'column', name: other }],
        roles: strangers.roles,
        explanation: explain(`${relation.name}.${quoteIdentifier(column.name)}`, other),
        remedy: null,
        rule: {
          schemaName: row.schema,
          tableName: row.table,
          columnName: row.column,
          maskingFunction: 'Default',
        },
      })
    }
    return [...found.values()]
  },
}))
