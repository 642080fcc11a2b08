import type { Caller } from '../../auth/caller.ts'
import type { Params, PermissionRow } from '../../auth/permission.ts'
import type { Query } from '../../db/query.ts'
import type { ObjectKind } from '../objects/kinds/resource.ts'
import { type DirectoryObject, findObject, findUser } from '../objects/object-store.ts'
import { getMemberGroupsPermissions } from '../permissions.ts'

/** A way to name the object whose memberships are asked for. */
export interface Target {
  /** Ends the names of operations: getMemberGroupsOfUser. */
  readonly noun: string
  readonly path: string
  /** Undefined: an object of any kind. */
  readonly kind: ObjectKind | undefined
  readonly row: PermissionRow
}

export const targets: readonly Target[] = [
  {
    noun: 'DirectoryObject',
    path: '/directoryObjects/:id',
    kind: undefined,
    row: getMemberGroupsPermissions['directory object'],
  },
  { noun: 'Me', path: '/me', kind: 'user', row: getMemberGroupsPermissions.user },
  { noun: 'User', path: '/users/:id', kind: 'user', row: getMemberGroupsPermissions.user },
  { noun: 'Group', path: '/groups/:id', kind: 'group', row: getMemberGroupsPermissions.group },
  {
    noun: 'ServicePrincipal',
    path: '/servicePrincipals/:id',
    kind: 'servicePrincipal',
    row: getMemberGroupsPermissions['service principal'],
  },
  {
    noun: 'OrgContact',
    path: '/contacts/:id',
    kind: 'orgContact',
    row: getMemberGroupsPermissions['organizational contact'],
  },
  { noun: 'Device', path: '/devices/:id', kind: 'device', row: getMemberGroupsPermissions.device },
]

/** The object that the path names, of the kind that the path says; a user also by userPrincipalName. */
export function findTarget(
  query: Query,
  caller: Caller,
  kind: ObjectKind | undefined,
  params: Params,
): Promise<DirectoryObject> {
  const key = params.id ?? caller.objectId
  return kind === 'user'
    ? findUser(query, caller.tenantId, key)
    : findObject(query, caller.tenantId, kind ?? [], key)
}
