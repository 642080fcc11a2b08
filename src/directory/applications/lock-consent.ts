import type { Query } from '../../db/query.ts'
import { fail } from '../../kernel/problem.ts'
import { isUuid } from '../../kernel/uuid.ts'
import { lockReferences } from '../membership/lock-references.ts'
import { type DirectoryObject, findObject } from '../objects/object-store.ts'

/**
 * Locks the client of a consent and the user that it is for; null: all users. Before the lock of rights: a consent refers to both, and
 * would wait behind that lock for a write of the user. The client is 404 where it is deleted; a deleted user is undefined.
 */
export async function lockConsent(
  tx: Query,
  tenantId: string,
  clientId: string,
  userId: string | null,
): Promise<{ readonly client: DirectoryObject; readonly user: DirectoryObject | undefined }> {
  for (const id of [clientId, userId ?? clientId])
    if (!isUuid(id)) fail('InvalidObjectIdentifier', { id: id.slice(0, 200) })
  const references = userId === null ? [] : [{ key: userId.toLowerCase(), kind: 'user' as const }]
  const { container: client, objects } = await lockReferences(
    tx,
    tenantId,
    clientId.toLowerCase(),
    references,
    'no key update',
    { givesRights: false },
  )
  if (client?.kind !== 'servicePrincipal') return fail('ObjectNotFound', { id: clientId })
  // The page on which people consent locks nothing at nodes of the last release: the client, which its rows refer to, has it waited for (DIR-362).
  await findObject(tx, tenantId, 'servicePrincipal', client.id, { lock: true })
  return { client, user: objects[0] }
}

/** The same for a consent that is given: a user who is deleted is 404 too. */
export async function lockNewConsent(
  tx: Query,
  tenantId: string,
  clientId: string,
  userId: string | null,
): Promise<DirectoryObject> {
  const { client, user } = await lockConsent(tx, tenantId, clientId, userId)
  if (userId !== null && !user) fail('ObjectNotFound', { id: userId })
  return client
}

/**
 * Locks both for a consent that the person gives on a page, in the order of ids as above. False: one of them is deleted. People who consent
 * to one client do not wait for each other, nor for an import, which has objects that it changes up to its end: a wait keeps a connection.
 */
export async function lockOwnConsent(
  tx: Query,
  tenantId: string,
  clientId: string,
  userId: string,
): Promise<boolean> {
  const references = [{ key: userId, kind: 'user' as const }]
  const options = { givesRights: false }
  const { container, objects } = await lockReferences(
    tx,
    tenantId,
    clientId,
    references,
    'key share',
    options,
  )
  return container !== undefined && objects[0] !== undefined
}
