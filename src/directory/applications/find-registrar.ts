import { findFirstActor } from '../../db/audit.ts'
import type { Query } from '../../db/query.ts'
import { isUuid } from '../../kernel/uuid.ts'

export type Registrar =
  /** Undefined: the person has no account any more. */
  | { readonly kind: 'person'; readonly userPrincipalName: string | undefined }
  | { readonly kind: 'application'; readonly appId: string }
  | { readonly kind: 'operator' }

/**
 * Who registered an application, by the audit: its owners can add and remove owners. Undefined: the audit has no entry of it.
 * A displayName would prove nothing: its owner chooses it.
 */
export async function findRegistrar(
  sql: Query,
  tenantId: string,
  applicationId: string,
): Promise<Registrar | undefined> {
  const targets = [`/applications/${applicationId}`, `/directoryObjects/${applicationId}`]
  const actor = await findFirstActor(sql, tenantId, { action: 'create application', targets })
  if (!actor) return undefined
  const { kind, objectId, applicationId: appId } = actor
  if (kind === 'operator') return { kind }
  if (kind === 'application') return { kind, appId }
  const [person] = isUuid(objectId)
    ? await sql<{ name: string | null }[]>`
        select user_principal_name as name from directory_object
        where tenant_id = ${tenantId} and id = ${objectId} and kind = 'user' and deleted_at is null`
    : []
  return { kind: 'person', userPrincipalName: person?.name ?? undefined }
}
