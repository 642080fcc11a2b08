import type { RightName } from '../../auth/effective-rights.ts'
import { notSupported, type PermissionRow } from '../../auth/permission.ts'
import type { ObjectKind } from '../objects/kinds/resource.ts'

/** Least privileged permissions, the same for people and applications unless said. */
function atLeast(delegated: string, application = delegated): PermissionRow {
  return { delegated, personal: notSupported, application, leastPrivileged: true }
}

/** The table that holds the pairs of a relation, and the end of the pair that the path names. */
export type Edge =
  | 'memberOfContainer'
  | 'containerOfMember'
  | 'ownerOfObject'
  | 'objectOfOwner'
  | 'managerOfUser'
  | 'reportOfManager'

export interface Relation {
  readonly path: string
  readonly name: string
  /** The kind of the object that the path names. */
  readonly from: ObjectKind
  /** The kinds of the related objects. */
  readonly to: readonly ObjectKind[]
  readonly edge: Edge
  readonly transitive?: true
  /** Leads to one object at most; operations of its own read and write it. */
  readonly single?: true
  readonly read: PermissionRow
  /** Absent: an operation of its own adds to it, or nothing does. */
  readonly add?: PermissionRow
  readonly remove?: PermissionRow
  /** The right of the person to add and remove. */
  readonly right: RightName
}

export const memberKinds: readonly ObjectKind[] = [
  'user',
  'group',
  'servicePrincipal',
  'orgContact',
  'device',
]
const containerKinds: readonly ObjectKind[] = ['group', 'directoryRole']
export const roleMemberKinds: readonly ObjectKind[] = ['user', 'group', 'servicePrincipal']
export const ownerKinds: readonly ObjectKind[] = ['user', 'servicePrincipal']
const ownedKinds: readonly ObjectKind[] = ['group', 'application', 'servicePrincipal']

const readMembers = atLeast('GroupMember.Read.All')
const readApplications = atLeast('Application.Read.All')
const writeApplications = atLeast('Application.ReadWrite.All')
const writeRoles = atLeast('RoleManagement.ReadWrite.Directory')
const readUser = atLeast('User.Read.All and GroupMember.Read.All, Directory.Read.All')
const readSelf = atLeast('User.Read and GroupMember.Read.All, Directory.Read.All', notSupported)

export const writeGroupOwners = atLeast('Group.ReadWrite.All')

export const managerPermissions = {
  read: atLeast('User.Read.All'),
  write: atLeast('User.ReadWrite.All'),
} as const

function management(path: string): Relation[] {
  const common = {
    path,
    from: 'user',
    to: ['user'],
    read: managerPermissions.read,
    right: 'updateUser',
  } as const
  return [
    { ...common, name: 'manager', edge: 'managerOfUser', single: true },
    { ...common, name: 'directReports', edge: 'reportOfManager' },
  ]
}

function memberships(path: string, from: ObjectKind, read: PermissionRow): Relation[] {
  const common = {
    path,
    from,
    to: containerKinds,
    edge: 'containerOfMember',
    read,
    right: 'changeMembers',
  } as const
  return [
    { ...common, name: 'memberOf' },
    { ...common, name: 'transitiveMemberOf', transitive: true },
  ]
}

function owners(
  path: string,
  from: ObjectKind,
  read: PermissionRow,
  write: PermissionRow,
  right: RightName,
): Relation {
  return {
    path,
    name: 'owners',
    from,
    to: ownerKinds,
    edge: 'ownerOfObject',
    read,
    add: write,
    remove: write,
    right,
  }
}

function ownedObjects(path: string, read: PermissionRow): Relation {
  return {
    path,
    name: 'ownedObjects',
    from: 'user',
    to: ownedKinds,
    edge: 'objectOfOwner',
    read,
    right: 'changeGroupOwners',
  }
}

const members = {
  path: '/groups/:id',
  from: 'group',
  to: memberKinds,
  edge: 'memberOfContainer',
  right: 'changeMembers',
} as const

/** The principals that hold a directory role. */
export const roleMembers = {
  path: '/directoryRoles/:id',
  name: 'members',
  from: 'directoryRole',
  to: roleMemberKinds,
  edge: 'memberOfContainer',
  read: atLeast('RoleManagement.Read.Directory'),
  add: writeRoles,
  remove: writeRoles,
  right: 'manageRoles',
} as const satisfies Relation

/** The relations between objects, and the permissions to read and change them. */
export const relations: readonly Relation[] = [
  {
    ...members,
    name: 'members',
    read: readMembers,
    remove: atLeast('GroupMember.ReadWrite.All, Group.ReadWrite.All'),
  },
  { ...members, name: 'transitiveMembers', transitive: true, read: readMembers },
  roleMembers,
  owners('/groups/:id', 'group', readMembers, writeGroupOwners, 'changeGroupOwners'),
  owners('/applications/:id', 'application', readApplications, writeApplications, 'manageApplication'),
  owners(
    '/servicePrincipals/:id',
    'servicePrincipal',
    readApplications,
    writeApplications,
    'manageServicePrincipal',
  ),
  ...memberships('/me', 'user', readSelf),
  ...memberships('/users/:id', 'user', readUser),
  ...memberships('/groups/:id', 'group', readMembers),
  ...memberships('/servicePrincipals/:id', 'servicePrincipal', readApplications),
  ...memberships('/devices/:id', 'device', atLeast('Device.Read.All')),
  ...memberships('/contacts/:id', 'orgContact', atLeast('OrgContact.Read.All')),
  ...management('/me'),
  ...management('/users/:id'),
  ownedObjects('/me', atLeast('User.Read', notSupported)),
  ownedObjects('/users/:id', atLeast('User.Read.All')),
]

/** The name of the relation's operations: `GroupMembers`, `MyMemberOf`. */
export function nounOf({ path, name, from }: Relation): string {
  const owner = path === '/me' ? 'my' : from
  return [owner, name].map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join('')
}
