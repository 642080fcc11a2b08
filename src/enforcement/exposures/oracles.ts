import { quoteQualified } from '../../db/quote.ts'
import { findStrangers, type Given, givenAsJson } from './acl-entries.ts'
import type { Exposure, ExposureClass } from './exposure.ts'

interface UniqueRow {
  readonly oid: number
  readonly index: string
  readonly keys: readonly number[]
  readonly given: readonly Given[]
}

/** A duplicate is refused, so trying to write a value tells whether it is there. */
export const uniqueOracle: ExposureClass = {
  code: 'UniqueOracle',
  async find(scene) {
    const { sql, masked, byOid } = scene
    const rows = await sql<UniqueRow[]>`
      select c.oid::int8 as oid, x.indexrelid::regclass::text as index, array(select unnest(x.indkey)::int4) as keys,
        ${givenAsJson(sql, sql`c.relacl`, ['INSERT', 'UPDATE'])} || coalesce((
          select jsonb_agg(g) from pg_catalog.pg_attribute a,
            lateral jsonb_array_elements(${givenAsJson(sql, sql`a.attacl`, ['INSERT', 'UPDATE'])}) g
          where a.attrelid = c.oid and a.attnum = any(x.indkey)), '[]') as given
      from pg_catalog.pg_index x join pg_catalog.pg_class c on c.oid = x.indrelid
      where (x.indisunique or x.indisexclusion) and c.oid = any(${masked.map(({ oid }) => oid)}::oid[])
      order by 1, 2`
    return rows.flatMap(({ oid, index, keys, given }): Exposure[] => {
      const relation = byOid.get(oid)
      const column = relation?.hidden.find(({ number }) => keys.includes(number))
      const strangers = relation && column && findStrangers(scene, given, relation.owner)
      if (!strangers) return []
      return [
        {
          code: 'UniqueOracle',
          severity: 'medium',
          objects: [
            { kind: relation.kind, name: relation.name },
            { kind: 'index', name: index },
          ],
          roles: strangers.roles,
          explanation: `The index keeps values of the masked column ${column.name} apart, and these roles may write it: a refused duplicate (or INSERT … ON CONFLICT DO NOTHING that inserts nothing) tells that a guessed value exists, one guess at a time.`,
          remedy: `REVOKE ${strangers.privileges.join(', ')} ON ${relation.name} FROM ${strangers.grantees} CASCADE`,
          rule: null,
        },
      ]
    })
  },
}

interface KeyRow {
  readonly referenced: number
  readonly referencedKeys: readonly number[]
  readonly referencing: number
  readonly schema: string
  readonly table: string
  readonly owner: string
  readonly name: string
  readonly given: readonly Given[]
}

/** A foreign key to a masked column is checked with the owner's eyes. */
export const foreignKeyOracle: ExposureClass = {
  code: 'ForeignKeyOracle',
  async find(scene) {
    const { sql, masked, byOid } = scene
    const rows = await sql<KeyRow[]>`
      select k.confrelid::int8 as referenced, array(select unnest(k.confkey)::int4) as "referencedKeys", c.oid::int8 as referencing,
        n.nspname::text as schema, c.relname::text as "table", o.rolname::text as owner, k.conname::text as name,
        ${givenAsJson(sql, sql`c.relacl`, ['INSERT', 'UPDATE'])} || coalesce((
          select jsonb_agg(g) from pg_catalog.pg_attribute a,
            lateral jsonb_array_elements(${givenAsJson(sql, sql`a.attacl`, ['INSERT', 'UPDATE'])}) g
          where a.attrelid = c.oid and a.attnum = any(k.conkey)), '[]') as given
      from pg_catalog.pg_constraint k join pg_catalog.pg_class c on c.oid = k.conrelid
      join pg_catalog.pg_namespace n on n.oid = c.relnamespace join pg_catalog.pg_roles o on o.oid = c.relowner
      where k.contype = 'f' and k.confrelid = any(${masked.map(({ oid }) => oid)}::oid[]) order by 1, 7`
    return rows.flatMap((row): Exposure[] => {
      const relation = byOid.get(row.referenced)
      const column = relation?.hidden.find(({ number }) => row.referencedKeys.includes(number))
      const strangers = relation && column && findStrangers(scene, row.given, row.owner)
      if (!strangers) return []
      const table = quoteQualified(row.schema, row.table)
      return [
        {
          code: 'ForeignKeyOracle',
          severity: 'medium',
          objects: [
            { kind: 'table', name: table },
            { kind: relation.kind, name: relation.name },
          ],
          roles: strangers.roles,
          explanation: `The foreign key ${row.name} refers to the masked column ${column.name}: whoever may write ${table} learns from an accepted or a refused row whether a guessed value exists.`,
          remedy: `REVOKE ${strangers.privileges.join(', ')} ON ${table} FROM ${strangers.grantees} CASCADE`,
          rule: null,
        },
      ]
    })
  },
}
