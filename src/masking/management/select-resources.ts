import { scopesAllowing } from '../../auth/role-assignments.ts'
import type { Fragment } from '../../db/query.ts'
import { keyRange } from '../page.ts'
import { fold, scopeOf } from '../place.ts'
import type { Site } from '../resource.ts'
import { isKeyWithin } from '../within-scopes.ts'

/**
 * A table of the servers and databases below the scope of the path, each kind as far as the caller may read it. It
 * comes in an object: a promise of a fragment would run it.
 */
export async function selectResources({
  tx,
  tenantId,
  caller,
  params,
  ports,
}: Site): Promise<{ table: Fragment }> {
  const roles = await ports.rolesOf(tx, caller)
  const { after, before } = keyRange(fold(scopeOf(params)))
  const isReadable = (action: string) => tx`
    tenant_id = ${tenantId} and key > ${after} and key < ${before}
      and ${isKeyWithin(tx, scopesAllowing(roles, action))}`
  const table = tx`(
    select key, 'servers' as type, subscription_id, resource_group, name as server_name, null as database_name,
      location, tags, created_at
    from server where ${isReadable('Vendor.Sql/servers/read')}
    union all
    select key, 'servers/databases', subscription_id, resource_group, server_name, name, location, tags, created_at
    from masked_database where ${isReadable('Vendor.Sql/servers/databases/read')}
  ) resource`
  return { table }
}
