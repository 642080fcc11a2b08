import type { Query } from '../../db/query.ts'
import type { Json } from '../entities/property.ts'
import { namespace, showEntity } from '../entities/show-entity.ts'
import type { ObjectKind } from '../objects/kinds/resource.ts'
import type { ObjectSet } from '../objects/object-set.ts'
import { type DirectoryObject, objectColumns } from '../objects/object-store.ts'
import type { DeltaState } from './delta-token.ts'

/** The transaction that a delta reads in, and the properties that it shows. */
export interface DeltaSource {
  readonly tx: Query
  readonly tenantId: string
  readonly kind: ObjectKind
  readonly set: ObjectSet
  readonly select: readonly string[] | undefined
  readonly readable: ReadonlySet<string> | undefined
  /** Groups come with their members. */
  readonly hasMembers: boolean
  /** The ids of the objects that the client follows; undefined: all. */
  readonly only: readonly string[] | undefined
  /** Objects of a page. */
  readonly top: number
}

export interface DeltaPage {
  readonly items: readonly Record<string, Json>[]
  /** Where the next page begins; undefined: this is the last one. */
  readonly next: Pick<DeltaState, 'at'> | undefined
}

/** A group of many members fills several pages. */
export function mostMembers({ top }: DeltaSource): number {
  return top * 5
}

/** A member of a group, as it is now. */
export interface Member {
  readonly groupId: string
  readonly id: string
  /** Null: the object was deleted for good. */
  readonly kind: string | null
  readonly isDeleted: boolean
  readonly isMember: boolean
}

/** Objects as they are now, with the given members where there are any. An object without a row is gone for good. */
export function showObjects(
  source: DeltaSource,
  ids: readonly string[],
  rows: readonly DirectoryObject[],
  members: readonly Member[],
): Record<string, Json>[] {
  const byId = new Map(rows.map((row) => [row.id, row]))
  const membersOf = Map.groupBy(members, ({ groupId }) => groupId)
  return ids.map((id) => {
    const row = byId.get(id)
    if (!row || row.deletedAt) return { id, '@removed': { reason: row ? 'changed' : 'deleted' } }
    const shown = showEntity(source.set, row, source)
    const changed = membersOf.get(id)?.map(showMember)
    return changed ? { ...shown, 'members@delta': changed } : shown
  })
}

function showMember({ id, kind, isDeleted, isMember }: Member): Record<string, Json> {
  return {
    '@odata.type': `#${namespace}.${kind ?? 'directoryObject'}`,
    id,
    ...((isDeleted || !isMember) && { '@removed': { reason: isMember ? 'changed' : 'deleted' } }),
  }
}

export async function readObjects(
  { tx, tenantId, kind }: DeltaSource,
  ids: readonly string[],
): Promise<DirectoryObject[]> {
  return await tx<DirectoryObject[]>`
    select ${objectColumns(tx)} from directory_object o
    where o.tenant_id = ${tenantId} and o.kind = ${kind} and o.id = any(${ids}::uuid[])`
}
