import type { Query } from '../../db/query.ts'

/** The principals that a write disables, the groups that it deletes, or the one membership that it removes. */
export interface Loss {
  readonly ids: readonly string[]
  readonly membership?: { readonly containerId: string; readonly memberId: string }
}

export type AdministratorKind = 'user' | 'servicePrincipal'

/**
 * True when an enabled principal of these kinds is among the roots, or in a group or role among them at any depth,
 * once the loss has happened.
 */
export async function hasEnabledPrincipal(
  tx: Query,
  tenantId: string,
  roots: readonly string[],
  kinds: readonly AdministratorKind[],
  { ids, membership }: Loss = { ids: [] },
): Promise<boolean> {
  const { containerId = null, memberId = null } = membership ?? {}
  const rows = await tx`
    with recursive walk (id) as (
      select root from unnest(${[...roots]}::uuid[]) root
      union
      select edge.member_id from walk
      join directory_object container on container.tenant_id = ${tenantId} and container.id = walk.id
        and container.kind in ('group', 'directoryRole') and container.deleted_at is null
      join member_edge edge on edge.tenant_id = ${tenantId} and edge.container_id = walk.id
      where walk.id <> all(${[...ids]}::uuid[])
        and (edge.container_id, edge.member_id) is distinct from (${containerId}::uuid, ${memberId}::uuid)
    )
    select from walk join directory_object principal on principal.tenant_id = ${tenantId} and principal.id = walk.id
    where principal.kind = any(${[...kinds]}) and principal.deleted_at is null
      and principal.properties -> 'accountEnabled' is distinct from 'false'::jsonb
      and principal.id <> all(${[...ids]}::uuid[])
    limit 1`
  return rows.length > 0
}
