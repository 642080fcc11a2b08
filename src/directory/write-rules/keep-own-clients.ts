import type { Query } from '../../db/query.ts'
import { fail } from '../../kernel/problem.ts'
import type { EntityWrite, WriteContext } from '../entities/entity-write.ts'
import { listOwnAppIds } from '../first-start/own-clients.ts'

const isClient = (kind: string | undefined) => kind === 'application' || kind === 'servicePrincipal'

/**
 * The product's own clients are read-only, with their credentials, owners, permissions and grants, for every caller:
 * without them no administrator can sign in. `masquerade admin restore` repairs them.
 */
export async function keepOwnClients(
  { tx, caller: { tenantId } }: WriteContext,
  { kind, owner, before, changes }: EntityWrite,
): Promise<void> {
  const appId = isClient(kind)
    ? (before.appId ?? changes.appId)
    : owner && isClient(owner.kind)
      ? await findAppId(tx, tenantId, owner.id)
      : undefined
  if (typeof appId !== 'string') return
  const own = await listOwnAppIds(tx, tenantId)
  if (own.includes(appId.toLowerCase())) fail('OwnClientIsReadOnly', { appId })
}

export async function findAppId(tx: Query, tenantId: string, id: string): Promise<string | undefined> {
  const [row] = await tx<{ app_id: string | null }[]>`
    select app_id from directory_object where tenant_id = ${tenantId} and id = ${id}`
  return row?.app_id ?? undefined
}
