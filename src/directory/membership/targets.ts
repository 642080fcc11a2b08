import type { Caller } from '../../auth/caller.ts'
import type { Params, PermissionRow } from '../../auth/permission.ts'
import type { Query } from '../../db/query.ts'
import { fail } from '../../kernel/problem.ts'
import { getMemberGroupsPermissions } from '../permissions.ts'

export type ObjectKind = 'user' | 'group' | 'servicePrincipal' | 'orgContact' | 'device' | 'directoryRole'

const guidForm = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i

export function isGuid(value: string): boolean {
  return guidForm.test(value)
}

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

export interface FoundObject {
  readonly id: string
  readonly kind: ObjectKind
}

/** The object that the path names, of the kind that the path says; a user also by userPrincipalName. */
export async function findTarget(
  query: Query,
  caller: Caller,
  kind: ObjectKind | undefined,
  params: Params,
): Promise<FoundObject> {
  const key = params.id ?? caller.objectId
  const byName = !isGuid(key)
  if (byName && !(kind === 'user' && key.includes('@')))
    fail('InvalidObjectIdentifier', { id: key.slice(0, 200) })
  const [found] = await query<FoundObject[]>`
    select id, kind from directory_object
    where tenant_id = ${caller.tenantId} and deleted_at is null
      and ${byName ? query`lower(user_principal_name) = lower(${key})` : query`id = ${key}`}
      and ${kind ? query`kind = ${kind}` : query`kind <> 'organization'`}`
  return found ?? fail('ObjectNotFound', { id: key.slice(0, 400) })
}
