import type { Controller } from '../controller.ts'
import type { Report } from '../states/state-store.ts'
import { dropLeftOwners, findLeftovers, type Leftover } from './leftovers.ts'

/** Everything of ours in the database and on its server. */
export async function listLeftovers(
  controller: Pick<Controller, 'connect'>,
  databaseId: string,
): Promise<readonly Leftover[]> {
  const database = await controller.connect(databaseId)
  return database ? findLeftovers(database.sql, databaseId) : []
}

/**
 * Removes everything of ours, after the policy was turned off and the mappings were deleted. Settles once more than the
 * change itself did: a login role can be dropped when its sessions are gone. Can be repeated.
 */
export async function restoreDatabase(
  controller: Pick<Controller, 'connect' | 'settle'>,
  databaseId: string,
): Promise<Pick<Report, 'state' | 'reason'> & { left: readonly Leftover[] }> {
  const { state, reason } = await controller.settle(databaseId)
  const database = await controller.connect(databaseId)
  if (database) await dropLeftOwners(database, await findLeftovers(database.sql, databaseId))
  return { state, reason, left: await listLeftovers(controller, databaseId) }
}
