import { lockRightsToGive } from '../../auth/rights-lock.ts'
import type { DatabaseRow } from '../databases/database-row.ts'
import type { Site } from '../resource.ts'
import { storeEntries } from '../states/exempt-records.ts'
import { splitEntries } from './exempt-entries.ts'

/**
 * Part of every write of an exempt list, whether or not the database can be reached before the next one: an entry that names a
 * directory object now means no role later (ENF-330), and one that is added again counts as new (ENF-327). Entries that are added give rights.
 */
export async function recordEntries(
  { tx, tenantId, ports }: Site,
  before: Pick<DatabaseRow, 'exemptPrincipals'>,
  { id, exemptPrincipals }: Pick<DatabaseRow, 'id' | 'exemptPrincipals'>,
): Promise<void> {
  const entries = splitEntries(exemptPrincipals)
  const former = new Set(splitEntries(before.exemptPrincipals))
  const named = await ports.principals.findNamed(tx, tenantId, entries)
  const added = entries.filter((entry) => !former.has(entry))
  const kept = new Set(entries)
  const changed = [...added, ...[...former].filter((entry) => !kept.has(entry))]
  if (changed.length + named.length > 0) await storeEntries(tx, id, { changed, named })
  if (added.length > 0) await lockRightsToGive(tx)
}
