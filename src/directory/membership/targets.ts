import type { Caller } from '../../auth/caller.ts'
import type { Params, PermissionRow } from '../../auth/permission.ts'
import type { Query } from '../../db/query.ts'
import { fail } from '../../kernel/problem.ts'
import type { Soon } from '../../kernel/soon.ts'
import { isUuid } from '../../kernel/uuid.ts'
import type { ObjectKind } from '../objects/kinds/resource.ts'
import { principalNameForm } from '../objects/kinds/user.ts'
import { type DirectoryObject, findObject, findUser } from '../objects/object-store.ts'
import { getMemberGroupsPermissions } from '../permissions.ts'
import type { Target } from './graph.ts'

/** A way to name the object whose memberships are asked for. */
export interface TargetPath {
  /** Ends the names of operations: getMemberGroupsOfUser. */
  readonly noun: string
  readonly path: string
  /** Undefined: an object of any kind. */
  readonly kind: ObjectKind | undefined
  readonly row: PermissionRow
}

export const targets: readonly TargetPath[] = [
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

/**
 * The object that the path names, not looked up yet; a user also by userPrincipalName. A malformed key is refused, and an
 * alternate key such as an appId is looked up here.
 */
export function readTarget(query: Query, caller: Caller, { kind }: TargetPath, params: Params): Soon<Target> {
  const key = params.id ?? caller.objectId
  if (isUuid(key)) return { key: key.toLowerCase(), isName: false, kind }
  if (kind !== 'user')
    return findObject(query, caller.tenantId, kind ?? [], key).then(({ id }) => ({
      key: id,
      isName: false,
      kind,
    }))
  if (!principalNameForm.test(key)) fail('InvalidObjectIdentifier', { id: key.slice(0, 200) })
  return { key, isName: true, kind }
}

/** The object that a path names, of the kind that the path says; a user also by userPrincipalName. */
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
