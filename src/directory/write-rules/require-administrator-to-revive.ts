import { findRight, holdsAnyRole } from '../../auth/effective-rights.ts'
import { fail } from '../../kernel/problem.ts'
import { readStanding } from '../accounts/standing.ts'
import type { EntityWrite, WriteContext } from '../entities/entity-write.ts'
import { readApplicationStrength } from '../rights/application-strength.ts'

/**
 * DIR-292: an administrator blocks an application by disabling or deleting it. The block would not hold if the owner could
 * enable or restore the application with the permissions and consents that it had.
 */
export async function requireAdministratorToRevive(context: WriteContext, write: EntityWrite): Promise<void> {
  const appId = findBlockable(context, write)
  if (appId !== undefined && (await revivesRights(context, write, appId)))
    fail('RightsRequired', {
      reason: `The application has permissions, consents or rights: to enable or restore it, ${administrators}`,
    })
}

/** DIR-332: the same for a client of outside issuers. It locks rows, so it comes before the lock of rights. */
export async function requireAdministratorToUnblock(
  context: WriteContext,
  write: EntityWrite,
): Promise<void> {
  const appId = findBlockable(context, write)
  if (appId !== undefined && (await liftsBlock(context, write, appId)))
    fail('RightsRequired', {
      reason: `The client is disabled or deleted, and outside issuers may give it tokens: to change that, ${administrators}`,
    })
}

const { roles } = findRight('manageApplication')
const administrators = `the signed-in person must be ${roles.join(' or ')}.`

/** The appId of an application that the write is about; undefined for callers whose block it is. */
function findBlockable({ caller }: WriteContext, { kind, before, changes }: EntityWrite): string | undefined {
  if (kind !== 'application' && kind !== 'servicePrincipal') return undefined
  if (caller.kind === 'application' || holdsAnyRole(caller, roles)) return undefined
  const appId = before.appId ?? changes.appId
  return typeof appId === 'string' ? appId : undefined
}

async function revivesRights(
  { tx, caller, ports }: WriteContext,
  { verb, before, changes }: EntityWrite,
  appId: string,
): Promise<boolean> {
  const isEnabled = verb === 'update' && changes.accountEnabled === true && before.accountEnabled === false
  if (verb !== 'restore' && !isEnabled) return false
  const strength = await readApplicationStrength(tx, ports.readGivenRights, caller.tenantId, appId)
  return Object.values(strength).some((list) => list.length > 0)
}

/** Permissions of a client of an outside issuer stand in its tokens, so its strength here says nothing. */
async function liftsBlock(
  { tx, caller, ports }: WriteContext,
  { verb, kind, changes }: EntityWrite,
  appId: string,
): Promise<boolean> {
  if (!ports.hasOutsideIssuers || verb === 'add' || verb === 'remove') return false
  if (verb === 'update' && changes.accountEnabled !== true) return false
  // A block that is being made at this moment counts: the standing is read once it is there or not. The write has locked its own
  // object. A deletion of the application waits for its service principals, so a write of one of these does not lock the application.
  if (kind === 'application' || verb === 'create')
    await tx`
      select from directory_object
      where tenant_id = ${caller.tenantId} and kind = 'servicePrincipal' and app_id = ${appId}
      order by id for update`
  return (await readStanding(tx, caller.tenantId, caller.objectId, appId)).client === 'disabled'
}
