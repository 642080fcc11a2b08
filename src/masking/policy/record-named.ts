import type { DatabaseRow } from '../databases/database-row.ts'
import type { Site } from '../resource.ts'
import { splitEntries } from './exempt-entries.ts'

/**
 * Part of every write of an exempt list: an entry that names a directory object now means no role later (ENF-330), whether or not
 * the database can be reached before the object is deleted.
 */
export async function recordNamed(
  { tx, tenantId, ports }: Site,
  { id, exemptPrincipals }: Pick<DatabaseRow, 'id' | 'exemptPrincipals'>,
): Promise<void> {
  const named = await ports.principals.findNamed(tx, tenantId, splitEntries(exemptPrincipals))
  if (named.length > 0) await ports.enforcement.recordNamed(tx, id, named)
}
