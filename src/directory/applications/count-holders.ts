import type { Query } from '../../db/query.ts'

/** How many ways there are to act as an application: what it is granted, the holder of each has too. */
export interface HolderCounts {
  readonly secrets: number
  readonly certificates: number
  readonly redirectUris: number
  readonly owners: number
}

/** For the audit entry of a grant: secrets and certificates that have not ended, addresses, and owners of either object. */
export async function countHolders(
  tx: Query,
  tenantId: string,
  servicePrincipalId: string,
): Promise<HolderCounts> {
  const [counts] = await tx<HolderCounts[]>`
    with object as (
      select application.id, application.kind, application.properties
      from directory_object principal
      join directory_object application on application.tenant_id = principal.tenant_id and application.app_id = principal.app_id
        and application.kind in ('application', 'servicePrincipal')
      where principal.tenant_id = ${tenantId} and principal.id = ${servicePrincipalId}
        and (application.kind = 'application' or application.id = principal.id)
    ), application as (select * from object where kind = 'application')
    select (
        select count(*)::int from application_secret secret join application on application.id = secret.application_id
        where secret.tenant_id = ${tenantId} and secret.ends_at > now()
      ) as secrets,
      (
        select count(*)::int from application, jsonb_path_query(properties, '$.keyCredentials[*]') as certificate
        where (certificate ->> 'endDateTime')::timestamptz > now()
      ) as certificates,
      (
        select count(*)::int from application, jsonb_path_query(properties, '$.*.redirectUris[*]')
      ) as "redirectUris",
      (
        select count(distinct owner_id)::int from owner_edge
        where tenant_id = ${tenantId} and object_id in (select id from object)
      ) as owners`
  if (!counts) throw new Error('a count without a row')
  return counts
}
