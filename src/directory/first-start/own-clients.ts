import { firstPartyApplications } from '../../auth/first-party.ts'
import type { Query } from '../../db/query.ts'
import { serviceAppId } from '../applications/api-principal.ts'
import { readFirstStart } from './read-first-start.ts'

export const administrationName = 'Masquerade administration'

/** The client ids of the product itself: its API, its command line, its portal and the administrative application. */
export async function listOwnAppIds(sql: Query, tenantId: string): Promise<string[]> {
  const first = await readFirstStart(sql, tenantId)
  const fixed = [serviceAppId, ...Object.values(firstPartyApplications).map(({ appId }) => appId)]
  return first ? [...fixed, first.applicationId] : fixed
}
