import { findRight, holdsAnyRole } from '../../auth/effective-rights.ts'
import { fail } from '../../kernel/problem.ts'
import type { EntityWrite, WriteContext } from '../entities/entity-write.ts'
import { readApplicationStrength } from '../rights/application-strength.ts'

/**
 * DIR-292: an administrator blocks an application by disabling or deleting it. The block would not hold if the owner could
 * enable or restore the application with the permissions and consents that it had.
 */
export async function requireAdministratorToRevive(
  { tx, caller, ports }: WriteContext,
  { verb, kind, before, changes }: EntityWrite,
): Promise<void> {
  if (kind !== 'application' && kind !== 'servicePrincipal') return
  const isEnabled = verb === 'update' && changes.accountEnabled === true && before.accountEnabled === false
  if (verb !== 'restore' && !isEnabled) return
  const { roles } = findRight('manageApplication')
  if (caller.kind === 'application' || holdsAnyRole(caller, roles)) return
  const appId = String(before.appId)
  const strength = await readApplicationStrength(tx, ports.readGivenRights, caller.tenantId, appId)
  if (Object.values(strength).every((list) => list.length === 0)) return
  fail('RightsRequired', {
    reason: `The application has permissions, consents or rights: to enable or restore it, the signed-in person must be ${roles.join(' or ')}.`,
  })
}
