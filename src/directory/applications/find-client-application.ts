import type { Query } from '../../db/query.ts'

export interface KeyCredential {
  readonly keyId: string
  /** The certificate in DER as base64. */
  readonly key: string
  readonly startDateTime: string
  readonly endDateTime: string
}

export interface ApplicationProperties {
  readonly displayName?: string
  readonly isFallbackPublicClient?: boolean | null
  readonly web?: { readonly redirectUris?: readonly string[]; readonly logoutUrl?: string | null } | null
  readonly spa?: { readonly redirectUris?: readonly string[] } | null
  readonly keyCredentials?: readonly KeyCredential[] | null
  readonly publicClient?: { readonly redirectUris?: readonly string[] } | null
}

export interface ClientApplication {
  readonly app_id: string
  readonly application_id: string
  readonly service_principal_id: string
  /** How often it was disabled or deleted. */
  readonly shut_outs: number
  readonly properties: ApplicationProperties
}

/** An application that may get tokens: neither it nor its service principal is deleted or disabled. */
export async function findClientApplication(
  sql: Query,
  tenantId: string,
  appId: string,
): Promise<ClientApplication | undefined> {
  const [row] = await sql<ClientApplication[]>`
    select application.app_id, application.id as application_id, principal.id as service_principal_id,
      application.properties, coalesce(shut_out.times, 0) as shut_outs
    from directory_object application
    join directory_object principal on principal.tenant_id = application.tenant_id
      and principal.kind = 'servicePrincipal' and principal.app_id = application.app_id
    left join shut_out_client shut_out on shut_out.tenant_id = application.tenant_id
      and shut_out.app_id = application.app_id
    where application.tenant_id = ${tenantId} and application.kind = 'application'
      and application.app_id = ${appId.toLowerCase()}
      and application.deleted_at is null and principal.deleted_at is null
      and coalesce(principal.properties -> 'accountEnabled' <> 'false', true)`
  return row
}
