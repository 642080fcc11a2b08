import type { Query } from '../../db/query.ts'
import { listOwnAppIds } from '../first-start/own-clients.ts'

/** The objects that every installation creates: the organization, the product's applications, the first administrator. */
export async function findOwnObjects(tx: Query, tenantId: string): Promise<string[]> {
  const rows = await tx<{ id: string }[]>`
    select id from directory_object
    where tenant_id = ${tenantId} and app_id = any(${await listOwnAppIds(tx, tenantId)})
    union select administrator_id from first_start where tenant_id = ${tenantId}
    union select ${tenantId}::uuid`
  return rows.map(({ id }) => id)
}
