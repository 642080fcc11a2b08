import type { Sql } from '../../src/db/sql.ts'
import type { StoredRole } from '../../src/logins/exempt/judge-entries.ts'
import { selectRecords, storeRoles } from '../../src/masking/states/exempt-records.ts'

/** What enforcement knows about the exempt entries of a database, as a turn reads and writes it. */
export function openExemptRecords(sql: Sql, databaseId: string) {
  return {
    write: storeRoles(sql, databaseId),
    async read(): Promise<readonly StoredRole[]> {
      const [row] = await sql<{ records: StoredRole[] }[]>`
        select ${selectRecords(sql, sql`${databaseId}::uuid`)} as records`
      return row?.records ?? []
    },
  }
}
