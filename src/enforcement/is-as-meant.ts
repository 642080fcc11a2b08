import type { Connections } from './connections.ts'
import { isExemptAsMeant } from './guard/compare-exempt.ts'
import type { Logins } from './logins/logins.ts'
import type { PolicyReader } from './policy-reader.ts'

interface Parts {
  readonly connections: Connections
  readonly logins: Logins
  readonly policies: PolicyReader
}

/** False: login roles were changed, or the exemptions in the database are not those of the policy. */
export async function isAsMeant(
  { connections, logins, policies }: Parts,
  databaseId: string,
): Promise<boolean> {
  try {
    const database = await connections.openFit(databaseId)
    if (!database) return true
    const settled = await logins.settle(database, databaseId)
    if (settled.changed > 0 || settled.dismissed.length > 0) return false
    const { exemptRoles } = await policies.read(database.sql, databaseId, settled)
    return await isExemptAsMeant(database.sql, exemptRoles)
  } catch {
    // Enforcing will say what is wrong, and will be tried again.
    return false
  }
}
