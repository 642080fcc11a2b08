import type { Caller } from '../../auth/caller.ts'
import { notSupported, type PermissionRow } from '../../auth/permission.ts'
import { requirePermissions } from '../../auth/permit.ts'
import type { Stored } from '../entities/property.ts'
import { atLeast, type ExtensionResource } from '../permissions.ts'

/** Permissions to read a resource's open extensions, and to read an item itself. DIR-67 has those to write. */
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

/** Permissions for the extensions of other users than the caller. */
export const otherUsers = {
  read: atLeast('User.Read.All', notSupported, 'User.Read.All'),
  write: atLeast('User.ReadWrite.All', notSupported, 'User.ReadWrite.All'),
} as const

/** The kinds of directory objects that can have open extensions. */
export const extensibleObjects: ReadonlySet<string> = new Set(['user', 'group', 'device', 'organization'])

/** Refuses to expand the extensions of an object to callers who may not read them. */
export function requireToReadExtensions(caller: Caller, { kind, id }: Pick<Stored, 'kind' | 'id'>): void {
  if (!extensibleObjects.has(kind)) return
  const isOther = kind === 'user' && id !== caller.objectId
  requirePermissions(caller, isOther ? otherUsers.read : readPermissions[kind as ExtensionResource])
}
