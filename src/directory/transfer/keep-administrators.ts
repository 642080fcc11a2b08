import { lockAdministrators } from '../../auth/administrators-lock.ts'
import type { Tx } from '../../db/database.ts'
import { fail } from '../../kernel/problem.ts'
import { findAdministratorRole, hasEnabledPrincipal } from '../rights/remaining-administrators.ts'

type ReadOwners = (tx: Tx, tenantId: string) => Promise<readonly string[]>

/** Returns a check for the end of an import: it fails where the last administrator of either kind was lost meanwhile. */
export async function watchAdministrators(
  tx: Tx,
  tenantId: string,
  readRootOwners: ReadOwners = async () => [],
): Promise<() => Promise<void>> {
  const look = async () => {
    const roles = await findAdministratorRole(tx, tenantId)
    const owners = await readRootOwners(tx, tenantId)
    return {
      'Global Administrator': await hasEnabledPrincipal(tx, tenantId, roles, ['user']),
      "Owner of masking at '/'": await hasEnabledPrincipal(tx, tenantId, owners, [
        'user',
        'servicePrincipal',
      ]),
    }
  }
  const before = await look()
  return async () => {
    await lockAdministrators(tx)
    const after = await look()
    for (const what of Object.keys(before) as (keyof typeof before)[])
      if (before[what] && !after[what]) fail('LastAdministrator', { what })
  }
}
