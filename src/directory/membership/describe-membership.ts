import type { Change } from '../../db/change-log.ts'
import type { Stored } from '../entities/property.ts'

/** The change log's entry about a reference that an object gained or lost. */
export function describeMembership(
  kind: 'memberAdded' | 'memberRemoved' | 'ownerAdded' | 'ownerRemoved',
  container: Pick<Stored, 'id' | 'kind'>,
  otherId: string,
): Change {
  return { entity: container.kind, entityId: container.id, kind, data: { id: otherId } }
}
