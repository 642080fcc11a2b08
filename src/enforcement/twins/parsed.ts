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

/** The same of the view `oid`, an expression. */
export function hashView(oid: string): string {
  return `(SELECT ${hashParsed('pg_rewrite', 'w')} FROM pg_catalog.pg_rewrite w WHERE w.ev_class = ${oid} AND w.rulename = '_RETURN')`
}
