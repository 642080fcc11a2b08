import type { Change } from '../../../db/change-log.ts'
import type { Query } from '../../../db/query.ts'

interface Row {
  readonly id: string
  readonly kind: string
  readonly version: number
}

/** Removes all values of a property whose definition was deleted: no request could read or remove them later. */
export async function removeValues(tx: Query, tenantId: string, name: string): Promise<Change[]> {
  const objects = await tx<Row[]>`
    update directory_object set properties = properties - ${name}::text, version = version + 1
    where tenant_id = ${tenantId} and properties ? ${name}::text
    returning id, kind, version`
  const items = await tx<Row[]>`
    update item set properties = properties - ${name}::text, version = version + 1, updated_at = now()
    where tenant_id = ${tenantId} and properties ? ${name}::text
    returning id, kind, version`
  return [...objects, ...items].map(({ id, kind, version }) => ({
    entity: kind,
    entityId: id,
    kind: 'updated',
    data: { version },
  }))
}
