import type { Caller } from '../../auth/caller.ts'
import { notSupported, type PermissionRow } from '../../auth/permission.ts'
import { holds } from '../../auth/permit.ts'
import { exactly } from '../permissions.ts'
import type { ObjectKind } from './kinds/resource.ts'

export type ObjectAction = 'read' | 'create' | 'update' | 'delete'

const readUsers = exactly(
  'User.ReadBasic.All, User.Read.All, User.ReadWrite.All, Directory.Read.All, Directory.ReadWrite.All',
  'User.Read.All, User.ReadWrite.All, Directory.Read.All, Directory.ReadWrite.All',
)
/** Permissions to read every property of users; DIR-155 is about callers with less. */
const readWholeUsers = exactly(
  'User.Read.All, User.ReadWrite.All, Directory.Read.All, Directory.ReadWrite.All',
)
const writeUsers = exactly('User.ReadWrite.All, Directory.ReadWrite.All')
const readGroups = exactly(
  'GroupMember.Read.All, Group.Read.All, Directory.Read.All, Group.ReadWrite.All, Directory.ReadWrite.All',
)
const writeGroups = exactly('Group.ReadWrite.All, Directory.ReadWrite.All')
const readApplications = exactly(
  'Application.Read.All, Application.ReadWrite.All, Directory.Read.All, Directory.ReadWrite.All',
)
const writeApplications = exactly('Application.ReadWrite.All, Directory.ReadWrite.All')
const readRoles = exactly(
  'RoleManagement.Read.Directory, Directory.Read.All, RoleManagement.ReadWrite.Directory, Directory.ReadWrite.All',
)
const writeRoles = exactly('RoleManagement.ReadWrite.Directory')
const readContacts = exactly('OrgContact.Read.All, Directory.Read.All, Directory.ReadWrite.All')
const readDevices = exactly(
  'Device.Read.All, Directory.Read.All, Directory.ReadWrite.All',
  'Device.Read.All, Device.ReadWrite.All, Directory.Read.All, Directory.ReadWrite.All',
)
const readOrganization = exactly(
  'User.Read, Organization.Read.All, Directory.Read.All, Organization.ReadWrite.All, Directory.ReadWrite.All',
  'Organization.Read.All, Directory.Read.All, Organization.ReadWrite.All, Directory.ReadWrite.All',
)
const writeDevices = exactly('Directory.AccessAsUser.All', 'Device.ReadWrite.All, Directory.ReadWrite.All')

function readAndWrite(
  read: PermissionRow,
  write: PermissionRow,
): Readonly<Record<ObjectAction, PermissionRow>> {
  return { read, create: write, update: write, delete: write }
}

/** Permissions for objects of each kind. */
export const objectPermissions: Readonly<Record<ObjectKind, Readonly<Record<ObjectAction, PermissionRow>>>> =
  {
    user: readAndWrite(readUsers, writeUsers),
    group: {
      ...readAndWrite(readGroups, writeGroups),
      create: exactly(
        'Group.ReadWrite.All, Directory.ReadWrite.All',
        'Group.Create, Group.ReadWrite.All, Directory.ReadWrite.All',
      ),
    },
    servicePrincipal: readAndWrite(readApplications, writeApplications),
    application: readAndWrite(readApplications, writeApplications),
    orgContact: readAndWrite(readContacts, exactly('Directory.ReadWrite.All')),
    device: readAndWrite(readDevices, writeDevices),
    directoryRole: readAndWrite(readRoles, writeRoles),
    organization: readAndWrite(readOrganization, exactly('Organization.ReadWrite.All')),
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
  read: exactly(
    'User.Read, User.ReadWrite, User.ReadBasic.All, User.Read.All, User.ReadWrite.All, Directory.Read.All, Directory.ReadWrite.All',
    notSupported,
    'User.Read, User.ReadWrite',
  ),
  update: exactly(
    'User.ReadWrite, User.ReadWrite.All, Directory.ReadWrite.All',
    notSupported,
    'User.ReadWrite',
  ),
} as const

/** Permissions for objects of any kind. */
export const anyObjectPermissions = {
  read: exactly('Directory.Read.All, Directory.ReadWrite.All'),
} as const

/** Permissions to set a user's password, beside those to update the user. */
export const passwordPermissions = exactly(
  'Directory.AccessAsUser.All',
  'User.ReadWrite.All and Directory.ReadWrite.All',
)
