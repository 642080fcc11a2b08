/** Rules and row policies as PostgreSQL has parsed them, by the names that a statement gives their rows. */
const trees = { pg_rewrite: 'ev_action', pg_policy: 'polqual' }

/**
 * A hash of a parsed definition or condition, as SQL. Its text can stay the same and lead to other functions, operators or casts when it is
 * parsed again. Null where it uses relations alone: PostgreSQL prints another text when one of these has another name. `row`: its alias.
 */
export function hashParsed(catalog: keyof typeof trees, row: string): string {
  return `CASE WHEN EXISTS (SELECT 1 FROM pg_catalog.pg_depend k WHERE k.classid = 'pg_catalog.${catalog}'::pg_catalog.regclass
      AND k.objid = ${row}.oid AND k.refclassid <> 'pg_catalog.pg_class'::pg_catalog.regclass)
    THEN pg_catalog.hashtextextended(${row}.${trees[catalog]}::text, 0)::text END`
}

/** Of the rule of a view, as stored and compressed: more than that of a twin takes. */
export const mostStoredBytes = 1_048_576

/**
 * A hash of the rule of a view as stored, with the names of its columns, as SQL: where it is the same, no role has changed the view. Null
 * where the rule is too long. By SHA-256: the owner of a view owns its twin, and may look for a collision. `row`: its alias.
 */
export function hashRule(row: string): string {
  const names = `ARRAY(SELECT a.attname::text FROM pg_catalog.pg_attribute a WHERE a.attrelid = ${row}.ev_class AND a.attnum > 0 ORDER BY a.attnum)`
  return `CASE WHEN pg_catalog.pg_column_size(${row}.ev_action) <= ${mostStoredBytes} THEN pg_catalog.encode(pg_catalog.sha256(
      pg_catalog.convert_to(pg_catalog.concat(${row}.ev_action::text, ${names}), pg_catalog.getdatabaseencoding())), 'hex') END`
}

/** Either hash of the view `oid`, an expression. */
export function hashView(oid: string, hash: 'parsed' | 'rule'): string {
  const expression = hash === 'parsed' ? hashParsed('pg_rewrite', 'w') : hashRule('w')
  return `(SELECT ${expression} FROM pg_catalog.pg_rewrite w WHERE w.ev_class = ${oid} AND w.rulename = '_RETURN')`
}
