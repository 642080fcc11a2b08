import { appendSelected } from '../../db/change-log.ts'
import type { Tx } from '../../db/database.ts'

/** Logs what an import created and changed: the staged tables hold nothing else by now, `total` rows in all. */
export async function logImport(tx: Tx, tenantId: string, total: number): Promise<void> {
  if (total === 0) return
  const edge = (table: string, kind: string) => tx`
    select container.kind as entity, container_id::text as entity_id, ${kind} as kind,
      jsonb_build_object('id', member_id) as data
    from ${tx(table)} edge join directory_object container
      on container.tenant_id = ${tenantId} and container.id = edge.container_id
    order by line`
  await appendSelected(tx, tenantId, total, [
    tx`
      select kind as entity, id::text as entity_id, 'created' as kind, jsonb_build_object('version', 1) as data
      from import_object order by line`,
    tx`
      select o.kind as entity, o.id::text as entity_id, 'updated' as kind, jsonb_build_object('version', o.version) as data
      from import_update join directory_object o on o.tenant_id = ${tenantId} and o.id = import_update.id
      order by line`,
    tx`
      select 'group' as entity, container_id::text as entity_id, 'memberAdded' as kind,
        jsonb_build_object('id', member_id) as data
      from import_member`,
    edge('import_role_member', 'memberAdded'),
    edge('import_owner', 'ownerAdded'),
    tx`
      select object.kind as entity, object_id::text as entity_id, 'extensionCreated' as kind,
        jsonb_build_object('name', name) as data
      from import_extension join directory_object object
        on object.tenant_id = ${tenantId} and object.id = object_id
      order by line`,
    tx`
      select object.kind as entity, object_id::text as entity_id, 'extensionUpdated' as kind,
        jsonb_build_object('name', name) as data
      from import_extension_update join directory_object object
        on object.tenant_id = ${tenantId} and object.id = object_id
      order by line`,
  ])
}
