import type { Query } from '../../db/query.ts'

/** A user's userPrincipalName or an application's appId; undefined for a principal that is not there. */
export async function findLoginName(
  sql: Query,
  tenantId: string,
  id: string,
  kind: 'user' | 'servicePrincipal',
): Promise<string | undefined> {
  const [found] = await sql<{ name: string | null }[]>`
    select case kind when 'user' then user_principal_name else app_id end as name from directory_object
    where tenant_id = ${tenantId} and id = ${id} and kind = ${kind} and deleted_at is null`
  return found?.name ?? undefined
}
