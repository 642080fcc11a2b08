import type { Query } from '../db/query.ts'

/** A claim of our own tokens beside `iat`, which has whole seconds: tokens and their revocation can share a second. */
export const issueTimeClaim = 'iat_ms'

/** By the clock of the database, which dates revocations too. Read before the contents of the token are read. */
export async function readIssueTime(sql: Query): Promise<number> {
  const [row] = await sql<{ ms: number }[]>`
    select floor(extract(epoch from clock_timestamp()) * 1000)::bigint as ms`
  return row?.ms ?? 0
}
