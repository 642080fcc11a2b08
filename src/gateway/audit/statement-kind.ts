/** PostgreSQL's name for this kind of statement, derived from its parse tree. */
export function kindOf(
  key: string | undefined,
  node: { readonly objtype?: string; readonly is_procedure?: boolean } | undefined,
): string {
  if (key === undefined) return 'UNKNOWN'
  if (key === 'CreateTableAsStmt')
    return node?.objtype === 'OBJECT_MATVIEW' ? 'CREATE MATERIALIZED VIEW' : 'CREATE TABLE AS'
  if (key === 'CreateFunctionStmt' && node?.is_procedure) return 'CREATE PROCEDURE'
  return named.get(key) ?? spell(key)
}

const named = new Map([
  ['DeclareCursorStmt', 'DECLARE'],
  ['ViewStmt', 'CREATE VIEW'],
  ['IndexStmt', 'CREATE INDEX'],
  ['RuleStmt', 'CREATE RULE'],
  ['RefreshMatViewStmt', 'REFRESH MATERIALIZED VIEW'],
])

/** AlterTableStmt: ALTER TABLE. */
function spell(key: string): string {
  return key
    .replace(/Stmt$/, '')
    .replace(/(?<=[a-z])(?=[A-Z])/g, ' ')
    .toUpperCase()
}
