import type { Caller } from '../../auth/caller.ts'
import { holdsAnyRole } from '../../auth/effective-rights.ts'
import { matchesConsent, rightsAdministrators } from '../../auth/grantable-permissions.ts'
import { lockRightsToGive, lockRightsToRead } from '../../auth/rights-lock.ts'
import type { Query } from '../../db/query.ts'
import { fail } from '../../kernel/problem.ts'
import type { EntityWrite, WriteContext } from '../entities/entity-write.ts'
import { requireForRoleAssignableGroup } from '../permissions.ts'
import { clientOf, readAccessPermissions } from '../rights/application-access.ts'
import { type CarriedRight, nameRights, readCarriedRights } from '../rights/carried-rights.ts'
import { ownsObject } from '../rights/person-rights.ts'

/** Properties that decide who is a member, or whether the group counts as one that can have rights. */
const memberProperties = ['groupTypes', 'membershipRule', 'membershipRuleProcessingState', 'securityEnabled']

/** Documents of masking name groups by displayName: a group that takes the name of another would be exempt next time. */
const guardedProperties = [...memberProperties, 'displayName']

/**
 * DIR-157: the members of a group that carries rights have these rights. A caller who changes the members, the owners
 * or the existence of such a group gives or takes the rights, so it takes more than the permission to change groups.
 */
export async function requireForCarryingGroup(context: WriteContext, write: EntityWrite): Promise<void> {
  const { tx, caller, ports, audit, askAgain } = context
  const { verb, kind, id, before, changes } = write
  const sets = (names: readonly string[]) => names.some((name) => Object.hasOwn(changes, name))
  const isPlain = verb === 'update' && !sets(guardedProperties)
  if (kind !== 'group' || isPlain) return
  // Operations that add and remove have the lock from `lockReferences`, by a statement less.
  // A group that is restored has again what it had, with those within.
  if (id && verb !== 'add' && verb !== 'remove')
    await (verb === 'restore' ? lockRightsToGive(tx) : lockRightsToRead(tx))
  const rights = id
    ? await readCarriedRights(
        tx,
        ports.readGivenRights,
        caller.tenantId,
        { id, names: [] },
        { dormant: true, access: true },
      )
    : []
  const canHoldRoles = before.isAssignableToRole === true || changes.isAssignableToRole === true
  if (rights.length === 0 && !canHoldRoles) return
  // Adding and removing has a table of its own (DIR-69).
  if (canHoldRoles && verb !== 'add' && verb !== 'remove') requireForRoleAssignableGroup(caller)
  // A role-assignable group gets directory roles later, from administrators who trust in its members.
  const isAccess = !canHoldRoles && rights.every(({ type }) => type === 'applicationAccess')
  // A deleted group shows among no members: who gave the rights may not have known of it, and its owner may.
  const owned = verb === 'restore' ? undefined : id
  const ask = async (sql: Query) => {
    if (await mayChangeHolders(sql, caller, owned)) return
    if (isAccess && (await couldGrantAccess(sql, caller, rights))) return
    const carried = rights.length > 0 ? nameRights(rights) : 'the directory roles that it can hold'
    fail('RightsRequired', {
      reason: `Members of the group have ${carried}: to change them, the signed-in person must ${verb === 'restore' ? '' : 'own the group or '}be Privileged Role Administrator or Global Administrator, and an application needs RoleManagement.ReadWrite.Directory.${isAccess ? ' A caller who could consent to the permissions of these applications may change them too.' : ''}`,
    })
  }
  await ask(tx)
  askAgain(`holders of ${owned}`, ask)
  if (rights.length === 0 || (verb === 'update' && !sets(memberProperties))) return
  const said = { verb, ...changes, carriedRights: rights }
  const isLoss = verb === 'remove' || verb === 'delete' || verb === 'purge'
  const action = isLoss ? 'take carried rights' : 'give carried rights'
  audit({ action, target: `/groups/${id}`, ...(isLoss ? { before: said } : { after: said }) })
}

async function mayChangeHolders(tx: Query, caller: Caller, groupId: string | undefined): Promise<boolean> {
  if (caller.kind === 'application') return caller.permissions.has('RoleManagement.ReadWrite.Directory')
  if (holdsAnyRole(caller, rightsAdministrators)) return true
  return groupId !== undefined && (await ownsObject(tx, caller, groupId))
}

/** DIR-395: such a caller could give what the clients of the group give without changing the group. */
async function couldGrantAccess(
  tx: Query,
  caller: Caller,
  rights: readonly CarriedRight[],
): Promise<boolean> {
  const permissions = await readAccessPermissions(tx, caller.tenantId, rights.map(clientOf))
  return permissions.every((permission) => matchesConsent(caller, permission, true))
}
