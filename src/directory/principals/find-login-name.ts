import type { Query } from '../../db/query.ts'
import { foldPrincipalName } from '../../kernel/fold-principal-name.ts'
import { isUuid } from '../../kernel/uuid.ts'

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

/** The enabled user of a userPrincipalName or application of an appId, as a login needs it. */
export async function findByLoginName(sql: Query, tenantId: string, name: string) {
  const isMeant = isUuid(name)
    ? sql`kind = 'servicePrincipal' and app_id = ${name.toLowerCase()}`
    : sql`kind = 'user' and folded_principal_name = ${foldPrincipalName(name)}`
  const [found] = await sql<{ id: string; kind: 'user' | 'servicePrincipal'; applicationId: string }[]>`
    select id, kind, case kind when 'user' then '' else app_id end as "applicationId" from directory_object
    where tenant_id = ${tenantId} and deleted_at is null and ${isMeant}
      and properties -> 'accountEnabled' is distinct from 'false'::jsonb`
  return found
}
