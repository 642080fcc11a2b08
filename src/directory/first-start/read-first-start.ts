import type { Query } from '../../db/query.ts'

/** The administrator of the first start, under its present name. */
export interface Administrator {
  readonly id: string
  readonly userPrincipalName: string
}

/** Undefined once the account was deleted. */
export async function findAdministrator(sql: Query, tenantId: string): Promise<Administrator | undefined> {
  const [row] = await sql<{ id: string; user_principal_name: string }[]>`
    select account.id, account.user_principal_name
    from first_start join directory_object account
      on account.tenant_id = first_start.tenant_id and account.id = first_start.administrator_id
    where first_start.tenant_id = ${tenantId} and account.deleted_at is null`
  return row && { id: row.id, userPrincipalName: row.user_principal_name }
}

export interface FirstStart {
  readonly administratorId: string
  /** The client id of the administrative application. */
  readonly applicationId: string
  readonly servicePrincipalId: string
}

/** The objects that the first start created, even if they were changed or deleted later; undefined before it. */
export async function readFirstStart(sql: Query, tenantId: string): Promise<FirstStart | undefined> {
  const [row] = await sql<FirstStart[]>`
    select administrator_id as "administratorId", application_id as "applicationId",
      service_principal_id as "servicePrincipalId"
    from first_start where tenant_id = ${tenantId}`
  return row
}
