import { directoryRoleTemplates } from '../../auth/directory-roles.ts'
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
  loss: Loss = { ids: [] },
): Promise<boolean> {
  return (await listEnabledPrincipals(tx, tenantId, roots, kinds, { loss, limit: 1 })).length > 0
}

/**
 * The enabled principals of these kinds among the roots, or in a group or role among them at any depth. A service principal without its
 * application gets no token: one that was restored alone does not count.
 */
export async function listEnabledPrincipals(
  tx: Query,
  tenantId: string,
  roots: readonly string[],
  kinds: readonly AdministratorKind[],
  { loss: { ids, membership } = { ids: [] }, limit }: { readonly loss?: Loss; readonly limit: number },
): Promise<string[]> {
  const { containerId = null, memberId = null } = membership ?? {}
  const rows = await tx<{ id: string }[]>`
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
    select principal.id from walk join directory_object principal on principal.tenant_id = ${tenantId} and principal.id = walk.id
    where principal.kind = any(${[...kinds]}) and principal.deleted_at is null
      and principal.properties -> 'accountEnabled' is distinct from 'false'::jsonb
      and principal.id <> all(${[...ids]}::uuid[])
      and (principal.kind <> 'servicePrincipal' or exists (
        select from directory_object application
        where application.tenant_id = ${tenantId} and application.kind = 'application'
          and application.app_id = principal.app_id and application.deleted_at is null))
    limit ${limit}`
  return rows.map(({ id }) => id)
}

/** The directory role of Global Administrators; none where it was never activated. */
export async function findAdministratorRole(tx: Query, tenantId: string): Promise<string[]> {
  const rows = await tx<{ id: string }[]>`
    select id from directory_object
    where tenant_id = ${tenantId} and kind = 'directoryRole' and deleted_at is null
      and properties ->> 'roleTemplateId' = ${directoryRoleTemplates['Global Administrator']}`
  return rows.map(({ id }) => id)
}
