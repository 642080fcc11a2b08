import type { Query } from '../../db/query.ts'

/** True for a domain that the organization has verified, in any case. */
export async function isVerifiedDomain(sql: Query, tenantId: string, name: string): Promise<boolean> {
  const rows = await sql`
    select 1 from directory_object organization,
      jsonb_array_elements(coalesce(organization.properties -> 'verifiedDomains', '[]')) domain
    where organization.tenant_id = ${tenantId} and organization.kind = 'organization'
      and lower((domain ->> 'name') collate "C") = lower(${name}::text collate "C")`
  return rows.length > 0
}
