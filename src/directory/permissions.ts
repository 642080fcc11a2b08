import type { Caller } from '../auth/caller.ts'
import { directoryRoleTemplates } from '../auth/directory-roles.ts'
import { notSupported, type PermissionRow } from '../auth/permission.ts'
import { fail } from '../kernel/problem.ts'

/** Subjects of the tables, in the words of the specification. */
export type MemberGroupsTarget =
  | 'directory object'
  | 'user'
  | 'group'
  | 'service principal'
  | 'organizational contact'
  | 'device'
export type ExtensionResource =
  | 'device'
  | 'event'
  | 'group'
  | 'group event'
  | 'group post'
  | 'message'
  | 'organization'
  | 'personal contact'
  | 'todoTask'
  | 'todoTasklist'
  | 'user'
export type MemberType = 'device' | 'group' | 'orgContact' | 'servicePrincipal' | 'user'

/** A row that lists every permission that suffices. */
export const exactly = (
  delegated: string,
  application = delegated,
  personal: string = notSupported,
): PermissionRow => ({ delegated, personal, application, leastPrivileged: false })

/** A row that lists the least privileged permissions; stronger ones suffice too. */
export const atLeast = (delegated: string, personal: string, application: string): PermissionRow => ({
  delegated,
  personal,
  application,
  leastPrivileged: true,
})

// Two rows, so that the start-up check sees whether each is used.
const memberGroupsOfUser = () =>
  exactly(
    'User.ReadBasic.All and GroupMember.Read.All, User.Read.All and GroupMember.Read.All, User.ReadBasic.All and Group.Read.All, User.Read.All and Group.Read.All, Directory.Read.All',
    'User.Read.All and GroupMember.Read.All, User.Read.All and Group.Read.All, Directory.Read.All',
  )

/** DIR-66 */
export const getMemberGroupsPermissions: Readonly<Record<MemberGroupsTarget, PermissionRow>> = {
  'directory object': memberGroupsOfUser(),
  user: memberGroupsOfUser(),
  group: exactly(
    'GroupMember.Read.All, Group.Read.All, Directory.Read.All, Group.ReadWrite.All, Directory.ReadWrite.All',
  ),
  'service principal': exactly(
    'Application.Read.All, Directory.Read.All, Application.ReadWrite.All, Directory.ReadWrite.All',
  ),
  'organizational contact': exactly('Directory.Read.All, Directory.ReadWrite.All'),
  device: exactly(
    'Device.Read.All, Directory.Read.All, Directory.ReadWrite.All',
    'Device.Read.All, Device.ReadWrite.All, Directory.Read.All, Directory.ReadWrite.All',
  ),
}

/** DIR-67 */
export const deleteOpenExtensionPermissions: Readonly<Record<ExtensionResource, PermissionRow>> = {
  device: atLeast('Directory.AccessAsUser.All', notSupported, 'Device.ReadWrite.All'),
  event: atLeast('Calendars.ReadWrite', 'Calendars.ReadWrite', 'Calendars.ReadWrite'),
  group: atLeast('Group.ReadWrite.All', notSupported, 'Group.ReadWrite.All'),
  'group event': atLeast('Group.ReadWrite.All', notSupported, notSupported),
  'group post': atLeast('Group.ReadWrite.All', notSupported, 'Group.ReadWrite.All'),
  message: atLeast('Mail.ReadWrite', 'Mail.ReadWrite', 'Mail.ReadWrite'),
  organization: atLeast('Organization.ReadWrite.All', notSupported, 'Organization.ReadWrite.All'),
  'personal contact': atLeast('Contacts.ReadWrite', 'Contacts.ReadWrite', 'Contacts.ReadWrite'),
  todoTask: atLeast('Tasks.ReadWrite', 'Tasks.ReadWrite', 'Tasks.ReadWrite.All'),
  todoTasklist: atLeast('Tasks.ReadWrite', 'Tasks.ReadWrite', 'Tasks.ReadWrite.All'),
  user: atLeast('User.ReadWrite', 'User.ReadWrite', 'User.ReadWrite.All'),
}

const addMembersOf = (both: string): PermissionRow => atLeast(both, notSupported, both)

/** DIR-68. Admit a request by `{ anyRow: Object.values(addMembersPermissions) }`, then require the row of each member. */
export const addMembersPermissions: Readonly<Record<MemberType, PermissionRow>> = {
  device: addMembersOf('GroupMember.ReadWrite.All and Device.ReadWrite.All'),
  group: addMembersOf('GroupMember.ReadWrite.All and Group.ReadWrite.All'),
  orgContact: addMembersOf('GroupMember.ReadWrite.All and OrgContact.Read.All'),
  servicePrincipal: addMembersOf('GroupMember.ReadWrite.All and Application.ReadWrite.All'),
  user: addMembersOf('GroupMember.ReadWrite.All and User.ReadWrite.All'),
}

/** DIR-70 */
export const updateGroupPermissions: Readonly<Record<'group', PermissionRow>> = {
  group: exactly('Group.ReadWrite.All, Directory.ReadWrite.All'),
}

/** Every table of the specification; a row that no operation uses stops the service at its start. */
export const permissionTables = {
  'DIR-66': getMemberGroupsPermissions,
  'DIR-67': deleteOpenExtensionPermissions,
  'DIR-68': addMembersPermissions,
  'DIR-70': updateGroupPermissions,
} as const

/** DIR-69: members of a group that can hold directory roles. */
export function requireForRoleAssignableGroup(caller: Caller): void {
  if (!caller.permissions.has('RoleManagement.ReadWrite.Directory'))
    fail('RightsRequired', {
      reason:
        'The group can hold directory roles: changing it takes the permission RoleManagement.ReadWrite.Directory as well.',
    })
}

/** DIR-62, DIR-122: the six properties of a group that come alone. */
export function requireDelegated(caller: Caller): void {
  if (caller.kind !== 'delegated') fail('InsufficientPrivileges')
}

const dataLocationRoles = [
  directoryRoleTemplates['User Administrator'],
  directoryRoleTemplates['Directory Writers'],
  directoryRoleTemplates['Exchange Administrator'],
  directoryRoleTemplates['SharePoint Administrator'],
]

/** DIR-20: only people hold directory roles here, so an application never may. */
export function requireDataLocationRole(caller: Caller): void {
  requireDelegated(caller)
  if (!dataLocationRoles.some((role) => caller.directoryRoles.has(role))) fail('InsufficientPrivileges')
}
