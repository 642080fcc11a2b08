import { firstPartyApplications } from '../../auth/first-party.ts'
import { lockUntilCommit } from '../../db/advisory-locks.ts'
import type { Database } from '../../db/database.ts'
import { ensureApiPrincipal } from '../applications/api-principal.ts'
import { registerApplication } from '../applications/registrations.ts'

/** Registers the product's own applications on the first start. `masquerade admin restore` brings deleted ones back. */
export async function ensureFirstParty(database: Database, tenantId: string): Promise<void> {
  const all = Object.values(firstPartyApplications)
  const appIds = all.map(({ appId }) => appId)
  await database.transaction(async (tx) => {
    await lockUntilCommit(tx, 'firstParty')
    await ensureApiPrincipal(tx, tenantId)
    const rows = await tx<{ app_id: string }[]>`
      select app_id from directory_object
      where tenant_id = ${tenantId} and kind = 'application' and app_id = any(${appIds})`
    const present = new Set(rows.map(({ app_id }) => app_id))
    for (const { appId, displayName, ...properties } of all)
      if (!present.has(appId)) await registerApplication(tx, tenantId, { appId, displayName, properties })
  })
}
