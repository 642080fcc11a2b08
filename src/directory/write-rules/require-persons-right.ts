import { findRight, holdsAnyRole, type RightName } from '../../auth/effective-rights.ts'
import type { Query } from '../../db/query.ts'
import type { EntityWrite, WriteContext } from '../entities/entity-write.ts'
import { extensionRights } from '../rights/declared-rights.ts'
import { type RightTarget, refuseDeed, requireRight } from '../rights/person-rights.ts'
import { isSelfService } from '../rights/self-service.ts'

/** A right that a write takes, and the object that it takes the right over. */
interface Needed {
  readonly right: RightName
  readonly target: RightTarget
}

/**
 * DIR-156: a delegated token writes nothing that its person may not write. Application tokens have no person. A bond with
 * the target, such as ownership, can be revoked while the write waits, so the question is asked once more (DIR-340).
 */
export async function requirePersonsRight(
  { tx, caller, ports, askAgain }: WriteContext,
  write: EntityWrite,
): Promise<void> {
  if (caller.kind === 'application') return
  for (const { right, target } of findNeeded(write)) {
    const ask = (sql: Query) => requireRight(sql, ports.everyoneMay, caller, right, target)
    await ask(tx)
    askAgain(JSON.stringify([right, target]), ask)
  }
  const isPlain = !holdsAnyRole(caller, findRight('updateUser').roles)
  if (write.kind === 'user' && write.verb === 'update' && isPlain) requireSelfService(write)
}

/** A role that sets passwords alone comes here with nothing but the password. */
function requireSelfService({ changes }: EntityWrite): void {
  const others = Object.keys(changes).filter((name) => name !== 'passwordProfile')
  if (!others.every(isSelfService)) refuseDeed('updateUser')
}

function findNeeded(write: EntityWrite): Needed[] {
  const { kind, id, owner, before, changes } = write
  const over = (right: RightName, key = id): Needed => ({ right, target: { key } })
  switch (kind) {
    case 'user':
      return rightsOverUser(write).map((right) => over(right))
    case 'group':
      return [findRightOverGroup(write)]
    case 'application':
      return [over(write.verb === 'create' ? 'createApplication' : 'manageApplication')]
    case 'servicePrincipal':
      return [findRightOverPrincipal(write)]
    case 'directoryRole':
      return [over('manageRoles')]
    case 'orgContact':
      return [over('writeContacts')]
    case 'device':
      return [over('writeDevices')]
    case 'organization':
      return [over('writeOrganization')]
    case 'extensionProperty':
      return [over('manageApplication', owner?.id)]
    case 'schemaExtension':
      return [
        { right: 'defineSchema', target: { key: undefined, appId: String(before.owner ?? changes.owner) } },
      ]
    case 'openExtension':
      return [over(findRightOverExtension(owner), owner?.id ?? '')]
    default:
      return [over(findRightOverItem(owner), owner?.id ?? '')]
  }
}

/** Items of a mailbox belong to a user, those of a group's calendar and conversations to the group. */
function findRightOverItem(owner: EntityWrite['owner']): RightName {
  return owner?.kind === 'group' ? 'writeGroupItems' : 'writeMailbox'
}

/** DIR-352: the right that admitted the request. A member of a group writes its items, and not the group. */
function findRightOverExtension(owner: EntityWrite['owner']): RightName {
  if (owner?.item !== undefined) return findRightOverItem(owner)
  const declared: Readonly<Record<string, RightName>> = extensionRights
  return declared[owner?.kind ?? ''] ?? 'manageRoles'
}

function isWhole({ verb }: EntityWrite): boolean {
  return verb === 'delete' || verb === 'restore' || verb === 'purge'
}

function rightsOverUser(write: EntityWrite): RightName[] {
  if (write.verb === 'create') return ['createUser']
  if (isWhole(write)) return ['deleteUser']
  const setsPassword = Object.hasOwn(write.changes, 'passwordProfile')
  const setsOthers = !setsPassword || Object.keys(write.changes).length > 1
  return [...(setsPassword ? ['resetPassword' as const] : []), ...(setsOthers ? ['updateUser' as const] : [])]
}

function findRightOverGroup(write: EntityWrite): Needed {
  const { verb, id: key, changes } = write
  const unified = Array.isArray(changes.groupTypes) && changes.groupTypes.includes('Unified')
  if (verb === 'create') return { right: 'createGroup', target: { key, unified } }
  if (isWhole(write)) return { right: 'deleteGroup', target: { key } }
  if (verb === 'update') return { right: 'updateGroup', target: { key } }
  return { right: Object.hasOwn(changes, 'owners') ? 'changeGroupOwners' : 'changeMembers', target: { key } }
}

function findRightOverPrincipal({ verb, id: key, before, changes }: EntityWrite): Needed {
  if (verb === 'create')
    return { right: 'createServicePrincipal', target: { key, appId: String(changes.appId) } }
  if (Object.hasOwn(changes, 'appRoleAssignments')) return { right: 'grantPermissions', target: { key } }
  if (Object.hasOwn(changes, 'appRoleAssignedTo'))
    return { right: 'assignAppRoles', target: { key, appId: String(before.appId) } }
  if (Object.hasOwn(changes, 'oauth2PermissionGrants')) return { right: 'consentForPeople', target: { key } }
  return { right: 'manageServicePrincipal', target: { key } }
}
