import { appendSelected } from '../../db/change-log.ts'
import type { Tx } from '../../db/database.ts'

/**
 * Keeps the kinds of the objects that got members, owners or extensions, for `logImport`: an object that is purged meanwhile
 * would leave a gap in the revisions.
 */
export async function rememberKinds(tx: Tx, tenantId: string): Promise<void> {
  await tx`
    create temporary table import_kind on commit drop as
    select id, kind from directory_object where tenant_id = ${tenantId} and id in (
      select container_id from import_role_member union select container_id from import_owner
      union select object_id from import_extension union select object_id from import_extension_update)`
}

/** Logs what an import created and changed: the staged tables hold nothing else by now, `total` rows in all. */
export async function logImport(tx: Tx, tenantId: string, total: number): Promise<void> {
  if (total === 0) return
  const edge = (table: string, kind: string) => tx`
    select container.kind as entity, container_id::text as entity_id, ${kind} as kind,
      jsonb_build_object('id', member_id) as data
    from ${tx(table)} edge join import_kind container on container.id = edge.container_id
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
      from import_extension join import_kind object on object.id = object_id
      order by line`,
    tx`
      select object.kind as entity, object_id::text as entity_id, 'extensionUpdated' as kind,
        jsonb_build_object('name', name) as data
      from import_extension_update join import_kind object on object.id = object_id
      order by line`,
  ])
}
