import { selectRightsLock } from '../../auth/rights-lock.ts'
import type { Query } from '../../db/query.ts'
import { foldPrincipalName } from '../../kernel/fold-principal-name.ts'
import { isUuid } from '../../kernel/uuid.ts'
import { type DirectoryObject, objectColumns } from '../objects/object-store.ts'
import type { ObjectReference } from './object-reference.ts'

/**
 * `key share` keeps others from deleting the objects: deletions lock them FOR UPDATE first. `share` keeps others from changing them too;
 * `no key update` is for changing them.
 */
export type LockStrength = 'key share' | 'share' | 'no key update'

export interface LockedReferences {
  readonly container: DirectoryObject | undefined
  /** The object of each reference, in their order; undefined where there is no such object of that kind. */
  readonly objects: readonly (DirectoryObject | undefined)[]
}

/**
 * Finds an object and those to be related to it, and locks them all until the end of the transaction, then the rights that
 * the container carries. A group or service principal may gain these, so adding one counts as giving rights.
 */
export async function lockReferences(
  tx: Query,
  tenantId: string,
  containerId: string,
  references: readonly ObjectReference[],
  strength: LockStrength,
  { givesRights = true }: { readonly givesRights?: boolean } = {},
): Promise<LockedReferences> {
  const keys = await resolveNames(tx, tenantId, references)
  const found = await lockObjects(tx, tenantId, containerId, keys, { strength, givesRights })
  return {
    container: found.get(containerId),
    objects: references.map(({ kind }, at) => {
      const object = found.get(keys[at] ?? '')
      return kind === undefined || kind === object?.kind ? object : undefined
    }),
  }
}

/** The ids that the references name; a name without a user stays as it is. */
async function resolveNames(
  tx: Query,
  tenantId: string,
  references: readonly ObjectReference[],
): Promise<string[]> {
  const names = references.map(({ key }) => foldPrincipalName(key)).filter((key) => !isUuid(key))
  const rows =
    names.length === 0
      ? []
      : await tx<{ id: string; name: string }[]>`
          select id, folded_principal_name as name from directory_object
          where tenant_id = ${tenantId} and kind = 'user' and deleted_at is null
            and folded_principal_name = any(${names})`
  const ids = new Map(rows.map(({ id, name }) => [name, id]))
  return references.map(({ key }) => ids.get(foldPrincipalName(key)) ?? key)
}

/**
 * Locks in one statement and in the order of ids, so that two requests cannot deadlock. The lock of rights comes behind all
 * rows: it is taken by what an aggregate over them tells.
 */
async function lockObjects(
  tx: Query,
  tenantId: string,
  containerId: string,
  keys: readonly string[],
  { strength, givesRights }: { readonly strength: LockStrength; readonly givesRights: boolean },
): Promise<Map<string, DirectoryObject>> {
  const ids = [containerId, ...keys].filter(isUuid)
  const objects = tx<DirectoryObject[]>`
    select ${objectColumns(tx)} from directory_object o
    where o.tenant_id = ${tenantId} and o.id = any(${ids}::uuid[]) and o.deleted_at is null
    order by o.id for ${tx.unsafe(strength)}`
  const rows = givesRights
    ? await tx<DirectoryObject[]>`
        with locked as materialized (${objects}), bearer as materialized (
          select coalesce(bool_or(kind in ('group', 'servicePrincipal')), false) as gains
          from locked where id::text <> ${containerId}
        ), ordered as materialized (select ${selectRightsLock(tx, tx`gains`)} from bearer)
        select locked.* from locked cross join ordered`
    : await objects
  return new Map(rows.map((row) => [row.id, row]))
}
