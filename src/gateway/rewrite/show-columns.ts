import type { MaskedRelation } from '../../contracts/role-masks.ts'
import { quoteLiteral } from '../../db/quote.ts'

/** The columns of `information_schema.columns`, in order, with what to read where the table knows better than its twin. */
const columns: Readonly<Record<string, string>> = {
  table_catalog: '',
  table_schema: 'm.schema::information_schema.sql_identifier',
  table_name: '',
  column_name: '',
  ordinal_position: 'a.attnum::information_schema.cardinal_number',
  column_default: '',
  is_nullable: "CASE WHEN a.attnotnull THEN 'NO' ELSE 'YES' END::information_schema.yes_or_no",
  ...Object.fromEntries(
    `data_type character_maximum_length character_octet_length numeric_precision numeric_precision_radix numeric_scale
    datetime_precision interval_type interval_precision character_set_catalog character_set_schema character_set_name
    collation_catalog collation_schema collation_name domain_catalog domain_schema domain_name udt_catalog udt_schema udt_name
    scope_catalog scope_schema scope_name maximum_cardinality dtd_identifier is_self_referencing is_identity
    identity_generation identity_start identity_increment identity_maximum identity_minimum identity_cycle is_generated
    generation_expression is_updatable`
      .split(/\s+/)
      .map((name) => [name, '']),
  ),
}

/**
 * PostgreSQL leaves out of `information_schema.columns` what a role has no privilege on, and so the masked columns of a
 * table that it may only read. They are in the twin, and shown as the table's. It runs as the client.
 */
export function readColumnsWithMasked(relations: Iterable<MaskedRelation>): string {
  const schemas = new Map([...relations].map(({ schema, twin }) => [twin.schema, schema]))
  const pairs = [...schemas].map(([twin, schema]) => `(${quoteLiteral(twin)}, ${quoteLiteral(schema)})`)
  const list = Object.entries(columns).map(([name, own]) => own || `t.${name}`)
  return `(SELECT ${Object.keys(columns).join(', ')} FROM information_schema.columns
    UNION ALL SELECT ${list.join(', ')} FROM information_schema.columns t
    JOIN (VALUES ${pairs.join(', ')}) m (twin, schema) ON t.table_schema::pg_catalog.text OPERATOR(pg_catalog.=) m.twin
    JOIN pg_catalog.pg_attribute a ON a.attname::pg_catalog.text OPERATOR(pg_catalog.=) t.column_name::pg_catalog.text
      AND a.attrelid OPERATOR(pg_catalog.=) pg_catalog.to_regclass(pg_catalog.format('%I.%I', m.schema, t.table_name))::pg_catalog.oid
    WHERE NOT pg_catalog.has_column_privilege(a.attrelid, a.attnum, 'SELECT, INSERT, UPDATE, REFERENCES'))`
}
