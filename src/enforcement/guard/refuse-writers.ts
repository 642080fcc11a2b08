import { quoteIdentifier, quoteQualified } from '../../db/quote.ts'
import type { Sql } from '../../db/sql.ts'
import type { selectGuard } from './find-guard.ts'

/** The name of a constraint and of a rule on each of the tables. */
const wall = 'controller_alone'

const tables = ['relation', 'policy']

/**
 * Keeps all roles but the owner of the records and superusers from writing them, members of pg_write_all_data too: their rows
 * decide which role gets which grant. By TRIGGER, the privilege that no predefined role has. By a constraint and a rule,
 * because nodes of the last release take a trigger on these tables for another role's code. Not by row security, which
 * would stop `pg_dump` of the roles that may read them. A subscription writes rows without a tableoid: nothing is true of it.
 */
export function refuseWriters(schema: string): string[] {
  const name = quoteIdentifier(wall)
  return tables.flatMap((table) => {
    const on = quoteQualified(schema, table)
    return [
      `ALTER TABLE ${on} DROP CONSTRAINT IF EXISTS ${name},
      ADD CONSTRAINT ${name} CHECK (pg_catalog.has_table_privilege(tableoid, 'TRIGGER') IS TRUE)`,
      `CREATE OR REPLACE RULE ${name} AS ON DELETE TO ${on}
      WHERE NOT pg_catalog.has_table_privilege(old.tableoid, 'TRIGGER') DO INSTEAD NOTHING`,
      // In the role of a replica, which a granted setting chooses, other rules are not used.
      `ALTER TABLE ${on} ENABLE ALWAYS RULE ${name}`,
    ]
  })
}

/** True where both are on each of the tables. `schema`: its OID. */
export function refusesWriters(sql: Sql, schema: ReturnType<typeof selectGuard>) {
  return sql`(select count(*) = ${tables.length} from pg_catalog.pg_class c
    where c.relnamespace = ${schema} and c.relname = any(${tables}::text[])
      and exists (select from pg_catalog.pg_constraint k where k.conrelid = c.oid and k.conname = ${wall})
      and exists (select from pg_catalog.pg_rewrite w where w.ev_class = c.oid and w.rulename = ${wall}
        and w.ev_enabled = 'A'))`
}
