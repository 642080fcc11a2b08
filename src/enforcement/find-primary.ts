import type { Database } from '../db/database.ts'
import type { Place } from '../db/database-url.ts'

/**
 * Where the primary of a bound database on several hosts is. It is asked first: where it does not answer, the connections
 * of the controller look for the next one. Undefined: none answers, or the database has one host.
 */
export function createPrimaryFinder(controller: { connect(databaseId: string): Promise<Database | null> }) {
  return async (databaseId: string): Promise<Place | undefined> => {
    const database = await controller.connect(databaseId)
    if (!database) return undefined
    const isAnswering = await database.sql`select`.then(
      () => true,
      () => false,
    )
    return isAnswering ? database.primary() : undefined
  }
}
