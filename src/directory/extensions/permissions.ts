import { notSupported, type PermissionRow } from '../../auth/permission.ts'
import { atLeast, type ExtensionResource } from '../permissions.ts'

/** Reading a resource's open extensions, and the resource itself where it is an item. Writing is DIR-67. */
export const readPermissions: Readonly<Record<ExtensionResource, PermissionRow>> = {
  device: atLeast('Directory.Read.All, Directory.AccessAsUser.All', notSupported, 'Device.Read.All'),
  event: atLeast('Calendars.Read', 'Calendars.Read', 'Calendars.Read'),
  group: atLeast('Group.Read.All', notSupported, 'Group.Read.All'),
  'group event': atLeast('Group.Read.All', notSupported, notSupported),
  'group post': atLeast('Group.Read.All', notSupported, 'Group.Read.All'),
  message: atLeast('Mail.Read', 'Mail.Read', 'Mail.Read'),
  organization: atLeast('User.Read, Organization.Read.All', notSupported, 'Organization.Read.All'),
  'personal contact': atLeast('Contacts.Read', 'Contacts.Read', 'Contacts.Read'),
  todoTask: atLeast('Tasks.Read', 'Tasks.Read', 'Tasks.Read.All'),
  todoTasklist: atLeast('Tasks.Read', 'Tasks.Read', 'Tasks.Read.All'),
  user: atLeast('User.Read', 'User.Read', 'User.Read.All'),
}
