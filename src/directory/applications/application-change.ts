import { appendChanges } from '../../db/change-log.ts'
import type { Query } from '../../db/query.ts'

/** Tells the change log of directory objects that the token service wrote itself. Call it last in the transaction. */
export async function noteApplicationChange(
  tx: Query,
  tenantId: string,
  objectId: string,
  change: 'created' | 'updated',
): Promise<void> {
  const rows = await tx<{ kind: string; version: number }[]>`
    select kind, version from directory_object where tenant_id = ${tenantId} and id = ${objectId}`
  await appendChanges(
    tx,
    tenantId,
    rows.map(({ kind, version }) => ({
      entity: kind,
      entityId: objectId,
      kind: change,
      data: { version },
    })),
  )
}
