import { type Client, errors, type KoaContextWithOIDC } from 'oidc-provider'
import type { Query } from '../db/query.ts'
import { readHeldAppRoles } from '../directory/app-roles/app-roles.ts'
import { clientFactsOf } from './client-facts.ts'

/** The roles of the client that a user holds, for the id token. */
export async function listAppRoles(
  { oidc: { client } }: KoaContextWithOIDC,
  sql: Query,
  tenantId: string,
  userId: string,
): Promise<readonly string[]> {
  if (!client) return []
  return (await readHeldAppRoles(sql, tenantId, userId, clientFactsOf(client).servicePrincipalId)).values
}

/** DIR-273: refuses users without an assignment where the application requires one. */
export async function requireAssignment(
  sql: Query,
  tenantId: string,
  client: Client,
  userId: string,
): Promise<void> {
  const { servicePrincipalId } = clientFactsOf(client)
  const { isAdmitted } = await readHeldAppRoles(sql, tenantId, userId, servicePrincipalId)
  if (!isAdmitted) throw new errors.AccessDenied('the user is not assigned to a role of the application')
}
