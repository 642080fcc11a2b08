import type { Query } from '../db/query.ts'

const types = { user: 'User', group: 'Group', servicePrincipal: 'ServicePrincipal' } as const

/** What kind of principal an id is, if it is one that can hold a role. */
export async function findPrincipal(
  tx: Query,
  tenantId: string,
  id: string,
): Promise<(typeof types)[keyof typeof types] | null> {
  const [row] = await tx<{ kind: keyof typeof types }[]>`
    select kind from directory_object
    where tenant_id = ${tenantId} and id = ${id} and deleted_at is null
      and kind in ('user', 'group', 'servicePrincipal')`
  return row ? types[row.kind] : null
}
