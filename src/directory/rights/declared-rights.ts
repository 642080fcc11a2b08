import type { RightName, Rights } from '../../auth/effective-rights.ts'
import type { ObjectKind } from '../objects/kinds/resource.ts'
import type { ExtensionResource } from '../permissions.ts'

/** The rights that operations on objects of each kind declare. */
export const objectRights: Readonly<
  Record<ObjectKind, Readonly<Record<'create' | 'update' | 'delete', Rights>>>
> = {
  user: { create: 'createUser', update: ['updateUser', 'resetPassword'], delete: 'deleteUser' },
  group: { create: 'createGroup', update: ['updateGroup', 'changeMembers'], delete: 'deleteGroup' },
  application: { create: 'createApplication', update: 'manageApplication', delete: 'manageApplication' },
  servicePrincipal: {
    create: 'createServicePrincipal',
    update: 'manageServicePrincipal',
    delete: 'manageServicePrincipal',
  },
  orgContact: { create: 'writeContacts', update: 'writeContacts', delete: 'writeContacts' },
  device: { create: 'writeDevices', update: 'writeDevices', delete: 'writeDevices' },
  directoryRole: { create: 'manageRoles', update: 'manageRoles', delete: 'manageRoles' },
  organization: { create: 'writeOrganization', update: 'writeOrganization', delete: 'writeOrganization' },
}

/** For operations that learn the kind of the object from the object itself. */
export function rightsToDelete(kinds: readonly ObjectKind[]): RightName[] {
  return [...new Set(kinds.flatMap((kind) => objectRights[kind].delete))]
}

/** The rights that operations on open extensions declare, and those on the items that hold them. */
export const extensionRights: Readonly<Record<ExtensionResource, RightName>> = {
  device: 'writeDevices',
  event: 'writeMailbox',
  group: 'updateGroup',
  'group event': 'writeGroupItems',
  'group post': 'writeGroupItems',
  message: 'writeMailbox',
  organization: 'writeOrganization',
  'personal contact': 'writeMailbox',
  todoTask: 'writeMailbox',
  todoTasklist: 'writeMailbox',
  user: 'extendUser',
}

/** The same right for each write, as sets of entities declare it. */
export function forEachWrite(right: RightName): Readonly<Record<'create' | 'update' | 'delete', RightName>> {
  return { create: right, update: right, delete: right }
}
