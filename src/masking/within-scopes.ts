import type { Query } from '../db/query.ts'

/** A condition on the column `key`: it is at or below one of the normalized scopes, by whole segments. */
export function isKeyWithin(sql: Query, scopes: readonly string[]) {
  return sql`(${scopes.includes('/')} or exists (
    select from unnest(${[...scopes]}::text[]) scope where key = scope or starts_with(key, scope || '/')))`
}
