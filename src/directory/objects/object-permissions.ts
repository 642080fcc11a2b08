import type { Caller } from '../../auth/caller.ts'
import { notSupported, type PermissionRow } from '../../auth/permission.ts'
import { holds } from '../../auth/permit.ts'
import type { ObjectKind } from './kinds/resource.ts'

export type ObjectAction = 'read' | 'create' | 'update' | 'delete'

const row = (delegated: string, application = delegated, personal = notSupported): PermissionRow => ({
  delegated,
  personal,
  application,
  leastPrivileged: false,
})

const readUsers = row(
  'User.ReadBasic.All, User.Read.All, User.ReadWrite.All, Directory.Read.All, Directory.ReadWrite.All',
  'User.Read.All, User.ReadWrite.All, Directory.Read.All, Directory.ReadWrite.All',
)
/** Permissions to read every property of users; DIR-155 is about callers with less. */
const readWholeUsers = row('User.Read.All, User.ReadWrite.All, Directory.Read.All, Directory.ReadWrite.All')
const writeUsers = row('User.ReadWrite.All, Directory.ReadWrite.All')
const readGroups = row(
  'GroupMember.Read.All, Group.Read.All, Directory.Read.All, Group.ReadWrite.All, Directory.ReadWrite.All',
)
const writeGroups = row('Group.ReadWrite.All, Directory.ReadWrite.All')
const readApplications = row(
  'Application.Read.All, Application.ReadWrite.All, Directory.Read.All, Directory.ReadWrite.All',
)
const writeApplications = row('Application.ReadWrite.All, Directory.ReadWrite.All')
const readRoles = row(
  'RoleManagement.Read.Directory, Directory.Read.All, RoleManagement.ReadWrite.Directory, Directory.ReadWrite.All',
)
const writeRoles = row('RoleManagement.ReadWrite.Directory')
const writeContacts = row('Directory.ReadWrite.All')
const writeDevices = row('Directory.AccessAsUser.All', 'Device.ReadWrite.All, Directory.ReadWrite.All')

/** Permissions for objects of each kind. */
export const objectPermissions: Readonly<Record<ObjectKind, Readonly<Record<ObjectAction, PermissionRow>>>> =
  {
    user: { read: readUsers, create: writeUsers, update: writeUsers, delete: writeUsers },
    group: {
      read: readGroups,
      create: row(
        'Group.ReadWrite.All, Directory.ReadWrite.All',
        'Group.Create, Group.ReadWrite.All, Directory.ReadWrite.All',
      ),
      update: writeGroups,
      delete: writeGroups,
    },
    servicePrincipal: {
      read: readApplications,
      create: writeApplications,
      update: writeApplications,
      delete: writeApplications,
    },
    application: {
      read: readApplications,
      create: writeApplications,
      update: writeApplications,
      delete: writeApplications,
    },
    orgContact: {
      read: row('OrgContact.Read.All, Directory.Read.All, Directory.ReadWrite.All'),
      create: writeContacts,
      update: writeContacts,
      delete: writeContacts,
    },
    device: {
      read: row(
        'Device.Read.All, Directory.Read.All, Directory.ReadWrite.All',
        'Device.Read.All, Device.ReadWrite.All, Directory.Read.All, Directory.ReadWrite.All',
      ),
      create: writeDevices,
      update: writeDevices,
      delete: writeDevices,
    },
    directoryRole: { read: readRoles, create: writeRoles, update: writeRoles, delete: writeRoles },
    organization: {
      read: row(
        'User.Read, Organization.Read.All, Directory.Read.All, Organization.ReadWrite.All, Directory.ReadWrite.All',
        'Organization.Read.All, Directory.Read.All, Organization.ReadWrite.All, Directory.ReadWrite.All',
      ),
      create: row('Organization.ReadWrite.All'),
      update: row('Organization.ReadWrite.All'),
      delete: row('Organization.ReadWrite.All'),
    },
  }

const basicUserProperties: ReadonlySet<string> = new Set([
  'id',
  'displayName',
  'givenName',
  'mail',
  'surname',
  'userPrincipalName',
])

/** DIR-155: the properties of a kind that a caller sees who may read the kind; undefined: all of them. */
export function readableProperties(caller: Caller, kind: ObjectKind): ReadonlySet<string> | undefined {
  return kind === 'user' && !holds(caller, readWholeUsers) ? basicUserProperties : undefined
}

/** Permissions to read deleted objects, which show every property. */
export function readDeletedPermissions(kind: ObjectKind): PermissionRow {
  return kind === 'user' ? readWholeUsers : objectPermissions[kind].read
}

/** Permissions for the signed-in user's own object. */
export const ownPermissions = {
  read: row(
    'User.Read, User.ReadWrite, User.ReadBasic.All, User.Read.All, User.ReadWrite.All, Directory.Read.All, Directory.ReadWrite.All',
    notSupported,
    'User.Read, User.ReadWrite',
  ),
  update: row('User.ReadWrite, User.ReadWrite.All, Directory.ReadWrite.All', notSupported, 'User.ReadWrite'),
} as const

/** Permissions for objects of any kind. */
export const anyObjectPermissions = {
  read: row('Directory.Read.All, Directory.ReadWrite.All'),
} as const

/** Permissions to set a user's password, beside those to update the user. */
export const passwordPermissions = row(
  'Directory.AccessAsUser.All',
  'User.ReadWrite.All and Directory.ReadWrite.All',
)

/** Permissions for groups that can hold directory roles. */
export const roleAssignablePermissions = row('RoleManagement.ReadWrite.Directory')
