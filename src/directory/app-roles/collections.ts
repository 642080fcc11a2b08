import type { RightName } from '../../auth/effective-rights.ts'
import type { PermissionRow } from '../../auth/permission.ts'
import { roleAssignmentPermissions } from '../applications/permissions.ts'
import type { EntityContext } from '../entities/entity-set.ts'
import type { ObjectKind } from '../objects/kinds/resource.ts'
import { type DirectoryObject, findObject, findUser } from '../objects/object-store.ts'
import { exactly } from '../permissions.ts'
import type { Side } from './app-role-assignments.ts'

/** A path that leads to assignments: those of a principal, or those to the roles of a resource. */
export interface AssignmentCollection {
  readonly path: string
  /** Ends the names of operations. */
  readonly name: string
  readonly clause: string
  readonly side: Side
  /** The kind of the object that the path names. */
  readonly holder: ObjectKind
  /** The kinds that a new assignment can be for. */
  readonly principals: readonly ObjectKind[]
  readonly permissions: { readonly read: PermissionRow; readonly write: PermissionRow }
  readonly rights: readonly RightName[]
}

const ofPeople = {
  read: exactly('Directory.Read.All, Directory.ReadWrite.All, AppRoleAssignment.ReadWrite.All'),
  write: exactly('AppRoleAssignment.ReadWrite.All'),
} as const

const ofApplications = {
  clause: 'DIR-150',
  permissions: roleAssignmentPermissions,
  holder: 'servicePrincipal',
} as const
const rights = ['grantPermissions', 'assignAppRoles'] as const

export const assignmentCollections: readonly AssignmentCollection[] = [
  {
    ...ofApplications,
    path: '/servicePrincipals/:id/appRoleAssignments',
    name: 'AppRoleAssignment',
    side: 'principal',
    principals: ['servicePrincipal'],
    rights,
  },
  {
    ...ofApplications,
    path: '/servicePrincipals/:id/appRoleAssignedTo',
    name: 'AppRoleAssignedTo',
    side: 'resource',
    principals: ['servicePrincipal', 'user', 'group'],
    rights,
  },
  ...(['user', 'group'] as const).map((kind) => ({
    path: `/${kind}s/:id/appRoleAssignments`,
    name: `${kind === 'user' ? 'User' : 'Group'}AppRoleAssignment`,
    clause: 'DIR-272',
    side: 'principal' as const,
    holder: kind,
    principals: [kind],
    permissions: ofPeople,
    rights: ['assignAppRoles'] as const,
  })),
]

/** The signed-in person's own, to read. */
export const ownAssignments: AssignmentCollection = {
  path: '/me/appRoleAssignments',
  name: 'MyAppRoleAssignment',
  clause: 'DIR-272',
  side: 'principal',
  holder: 'user',
  principals: ['user'],
  permissions: ofPeople,
  rights: ['assignAppRoles'],
}

/** The object that the path names. */
export function findHolder(
  { tx, caller: { tenantId, objectId }, params }: EntityContext,
  { holder }: AssignmentCollection,
): Promise<DirectoryObject> {
  return holder === 'user'
    ? findUser(tx, tenantId, params.id ?? objectId)
    : findObject(tx, tenantId, holder, params.id ?? '')
}
