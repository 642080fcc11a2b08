import type { Caller } from '../../auth/caller.ts'
import type { DirectoryRole } from '../../auth/directory-roles.ts'
import { holdsAnyRole } from '../../auth/effective-rights.ts'
import { rightsAdministrators } from '../../auth/grantable-permissions.ts'
import { holds } from '../../auth/permit.ts'
import { fail } from '../../kernel/problem.ts'
import type { EntityWrite, WriteContext } from '../entities/entity-write.ts'
import type { Json } from '../entities/property.ts'
import { passwordPermissions } from '../objects/object-permissions.ts'
import { type CarriedRight, nameRights, readCarriedRights } from '../rights/carried-rights.ts'
import { auditGivenRights, isRevival } from './audit-given-rights.ts'

/** A caller who changes one of these can sign in as the user. */
const signInProperties = [
  'identities',
  'onPremisesImmutableId',
  'otherMails',
  'passwordProfile',
  'userPrincipalName',
]

/** With these a caller can also lock the user out or receive their messages. */
const accountProperties = [...signInProperties, 'accountEnabled', 'businessPhones', 'mail', 'mobilePhone']

const accountAdministrators: readonly DirectoryRole[] = [
  'Global Administrator',
  'Privileged Authentication Administrator',
]

/**
 * DIR-153, DIR-159: passwords have permissions of their own, and a caller with power over an account is as strong as
 * the account. Accounts with directory roles are for administrators alone. Callers who manage users can lock out an
 * account that has rights of masking, but cannot get in as its user. A new name must not bring rights either.
 */
export async function requirePowerOverAccount(context: WriteContext, write: EntityWrite): Promise<void> {
  const { caller } = context
  const { verb, kind, id, before, changes } = write
  if (kind !== 'user') return
  if (verb === 'update' && changes.passwordProfile !== undefined && !holds(caller, passwordPermissions))
    fail('RightsRequired', {
      reason:
        'Setting a password takes the permission Directory.AccessAsUser.All, or User.ReadWrite.All and Directory.ReadWrite.All together.',
    })
  const isOwn = caller.kind === 'delegated' && caller.objectId === id
  if (isOwn && Object.hasOwn(changes, 'passwordProfile')) refuseOwnPassword()
  await requireForNewName(context, write)
  if (id === undefined || isOwn || !concernsAccount(write)) return
  const rights = await readRights(context, id, before.userPrincipalName, { dormant: true })
  const held = isTakeover(write) ? rights : rights.filter(({ type }) => type === 'directoryRole')
  if (held.length > 0 && !mayControl(caller, accountAdministrators))
    refuse('The account has', held, accountAdministrators)
  if (rights.length === 0 || !isRevival(write)) return
  // Neither rights by the former name are given back with a new one, nor those of deleted groups (DIR-398).
  const name = newNameOf(write) === undefined ? before.userPrincipalName : undefined
  auditGivenRights(context, write, await readRights(context, id, name))
}

/** DIR-283: a stolen access token lasts an hour; a password set with it would keep the account. */
function refuseOwnPassword(): never {
  return fail('RightsRequired', {
    reason: 'People change their own password with POST /me/changePassword, which asks for the current one.',
  })
}

/** An exempt list may name a user by userPrincipalName: an account that takes the name takes the exemption. */
async function requireForNewName(context: WriteContext, write: EntityWrite): Promise<void> {
  const name = newNameOf(write)
  if (name === undefined) return
  const rights = await readRights(context, undefined, name)
  if (rights.length > 0 && !mayControl(context.caller, rightsAdministrators))
    refuse('The userPrincipalName gives', rights, rightsAdministrators)
  auditGivenRights(context, write, rights, { userPrincipalName: name })
}

/** Undefined where the write leaves the name as it is: clients send it along with other properties. */
function newNameOf({ before, changes: { userPrincipalName: name } }: EntityWrite): string | undefined {
  return typeof name === 'string' && name !== before.userPrincipalName ? name : undefined
}

function readRights(
  { tx, caller, ports }: WriteContext,
  id: string | undefined,
  name: Json | undefined,
  options: { readonly dormant?: boolean } = {},
) {
  const bearer = { id, names: typeof name === 'string' ? [name] : [], owns: true }
  return readCarriedRights(tx, ports.readGivenRights, caller.tenantId, bearer, options)
}

function concernsAccount({ verb, changes }: EntityWrite): boolean {
  return verb !== 'update' || accountProperties.some((name) => Object.hasOwn(changes, name))
}

/** Restoring and enabling give the rights back; deleting and disabling take them. */
function isTakeover({ verb, changes }: EntityWrite): boolean {
  if (verb !== 'update') return verb === 'restore'
  return changes.accountEnabled === true || signInProperties.some((name) => Object.hasOwn(changes, name))
}

function mayControl(caller: Caller, roles: readonly DirectoryRole[]): boolean {
  return caller.kind === 'application'
    ? caller.permissions.has('RoleManagement.ReadWrite.Directory')
    : holdsAnyRole(caller, roles)
}

function refuse(what: string, rights: readonly CarriedRight[], roles: readonly DirectoryRole[]): never {
  return fail('RightsRequired', {
    reason: `${what} ${nameRights(rights)}: the signed-in person must be ${roles.join(' or ')}, and an application needs RoleManagement.ReadWrite.Directory.`,
  })
}
