import type { Caller } from './caller.ts'
import type { DirectoryRole } from './directory-roles.ts'
import { holdsAnyRole } from './effective-rights.ts'
import { withImplied } from './implied-permissions.ts'
import { isConsentable, isKnownPermission, knownPermissions, signInScopes } from './known-permissions.ts'

export const rightsAdministrators: readonly DirectoryRole[] = [
  'Global Administrator',
  'Privileged Role Administrator',
]
const applicationAdministrators: readonly DirectoryRole[] = [
  'Application Administrator',
  'Cloud Application Administrator',
]

/** Reads of the directory, and the writes that these administrators may do themselves. */
export const grantableByApplicationAdministrators: ReadonlySet<string> = new Set([
  'Application.Read.All',
  'Application.ReadWrite.All',
  'Device.Read.All',
  'Directory.Read.All',
  'Group.Read.All',
  'GroupMember.Read.All',
  'OrgContact.Read.All',
  'Organization.Read.All',
  'RoleManagement.Read.Directory',
  'User.Read.All',
])

/** True when the caller has the application permission too, or could grant it: control over its holder gives nothing. */
export function matchesPermission(caller: Caller, permission: string): boolean {
  return (
    mayGrantInPerson(caller, permission, 'application') &&
    reaches(caller, permission, 'AppRoleAssignment.ReadWrite.All')
  )
}

/**
 * True when the caller could consent to the delegated permission for other people. A permission that single people
 * consented to by themselves does not count; tenant-wide consent does, because no person is asked again. An application that
 * has the permission itself is no match for writes: with a sign-in of an administrator the delegated one reaches further.
 */
export function matchesConsent(caller: Caller, permission: string, forEveryone: boolean): boolean {
  if (forEveryone ? isAboutSignIn(permission) : isOfEveryone(permission)) return true
  const consents = 'DelegatedPermissionGrant.ReadWrite.All'
  if (caller.kind === 'application' && !isRead(permission)) return caller.permissions.has(consents)
  return mayGrantInPerson(caller, permission, 'delegated') && reaches(caller, permission, consents)
}

/** True when the caller may give away directory roles and the rights that masking gives. */
export function mayGrantRights(caller: Caller): boolean {
  const isAdministrator = caller.kind === 'application' || holdsAnyRole(caller, rightsAdministrators)
  return isAdministrator && caller.permissions.has('RoleManagement.ReadWrite.Directory')
}

/** True when the person's role includes granting the permission; a token without a person goes by its permissions. */
export function mayGrantInPerson(
  caller: Caller,
  permission: string,
  kind: 'application' | 'delegated',
): boolean {
  if (caller.kind === 'application' || holdsAnyRole(caller, rightsAdministrators)) return true
  // For an application itself, a permission such as Mail.Read reaches the data of all people.
  const isLow =
    grantableByApplicationAdministrators.has(permission) || (kind === 'delegated' && isOfEveryone(permission))
  return isLow && holdsAnyRole(caller, applicationAdministrators)
}

/** Permissions by which people reach more than their own data. `User.ReadBasic.All` does, though people may consent to it. */
export const permissionsBeyondOwnData: readonly string[] = Object.keys(knownPermissions).filter(
  (name) => !isConsentable(name) || name === 'User.ReadBasic.All',
)

/** What people consent to by themselves. A consent for one person to any other permission is by an administrator. */
export const permissionsByPeople: readonly string[] = [
  ...signInScopes,
  ...Object.keys(knownPermissions).filter(isConsentable),
]

/** Permissions whose consent for everyone gives people or their client more than a sign-in. */
export const permissionsBeyondSignIn: readonly string[] = Object.keys(knownPermissions).filter(
  (name) => !isAboutSignIn(name),
)

/** True for permissions that only identify the signed-in person. */
function isAboutSignIn(permission: string): boolean {
  return permission === 'User.Read' || !isKnownPermission(permission)
}

/** Every person consents to these; scopes of the sign-in itself, such as openid, are no permissions at all. */
function isOfEveryone(permission: string): boolean {
  return isConsentable(permission) || !isKnownPermission(permission)
}

/** Writes count exactly: several tables take the very permission, and not the stronger one that implies it elsewhere. */
function reaches({ permissions }: Caller, permission: string, grants: string): boolean {
  if (permissions.has(grants) || permissions.has(permission)) return true
  return isRead(permission) && withImplied(permissions).has(permission)
}

function isRead(permission: string): boolean {
  return /\.Read(Basic)?(\.|$)/.test(permission)
}
