import type { Query } from '../../db/query.ts'

/** The userPrincipalNames of the people who own an application. A displayName would prove nothing: its owner chooses it. */
export async function listOwnerNames(sql: Query, tenantId: string, applicationId: string): Promise<string[]> {
  const rows = await sql<{ name: string }[]>`
    select owner.user_principal_name as name from owner_edge edge
    join directory_object owner on owner.tenant_id = edge.tenant_id and owner.id = edge.owner_id
    where edge.tenant_id = ${tenantId} and edge.object_id = ${applicationId} and owner.kind = 'user'
      and owner.deleted_at is null and owner.user_principal_name is not null
    order by owner.user_principal_name limit 5`
  return rows.map(({ name }) => name)
}
