import type { Caller } from '../../auth/caller.ts'
import { holds } from '../../auth/permit.ts'
import type { Query } from '../../db/query.ts'
import { objectPermissions } from '../objects/object-permissions.ts'

const kinds = { User: 'user', Group: 'group', ServicePrincipal: 'servicePrincipal' } as const

/** True when the caller's permissions allow reading users, groups or service principals. */
export function mayReadPrincipals(caller: Caller, type: keyof typeof kinds): boolean {
  return holds(caller, objectPermissions[kinds[type]].read)
}

const types = { user: 'User', group: 'Group', servicePrincipal: 'ServicePrincipal' } as const

/** The kind of principal of each id, for those that can hold a role. */
export async function findPrincipals(
  tx: Query,
  tenantId: string,
  ids: readonly string[],
): Promise<ReadonlyMap<string, (typeof types)[keyof typeof types]>> {
  const rows = await tx<{ id: string; kind: keyof typeof types }[]>`
    select id, kind from directory_object
    where tenant_id = ${tenantId} and id = any(${ids}::uuid[]) and deleted_at is null
      and kind in ('user', 'group', 'servicePrincipal')`
  return new Map(rows.map(({ id, kind }) => [id, types[kind]]))
}

/** True for a principal that is not deleted: until the transaction ends no other one deletes it. */
export async function holdPrincipal(tx: Query, tenantId: string, id: string): Promise<boolean> {
  const held = await tx`
    select from directory_object
    where tenant_id = ${tenantId} and id = ${id} and deleted_at is null for key share`
  return held.count > 0
}
