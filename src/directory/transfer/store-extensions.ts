import type { Tx } from '../../db/database.ts'
import { type Fault, findExtensionFaults } from './find-faults.ts'

export interface StoredExtensions {
  readonly faults: readonly Fault[]
  readonly changed: number
  readonly unchanged: number
}
export const noExtensions: StoredExtensions = { faults: [], changed: 0, unchanged: 0 }

/** An application replaces the data of an extension of its own by name. */
export async function storeExtensions(tx: Tx, tenantId: string, limit: number): Promise<StoredExtensions> {
  const isSame = tx`present.tenant_id = ${tenantId} and present.object_id = staged.object_id
    and lower(present.name) = lower(staged.name) and present.application_id = staged.application_id`
  const same = await tx`
    delete from import_extension staged using open_extension present
    where ${isSame} and present.properties = staged.properties`
  // A caller that creates or deletes extensions, or deletes the object, waits from here: the checks judge the state that is written.
  await tx`
    with locked as materialized (
      select from directory_object o
      where o.tenant_id = ${tenantId} and o.id in (
        select object_id from import_extension except select id from import_object)
      order by o.id for key share
    )
    select count(*) from locked`
  // Until the commit they stay: one that is deleted meanwhile is created, and not logged as a change.
  await tx`
    with locked as materialized (
      select from open_extension present join import_extension staged on ${isSame}
      order by present.object_id, lower(present.name) for update of present
    )
    select count(*) from locked`
  const moved = await tx`
    with moved as (delete from import_extension staged using open_extension present where ${isSame} returning staged.*)
    insert into import_extension_update select * from moved`
  const faults = await findExtensionFaults(tx, tenantId, limit)
  if (faults.length > 0) return { ...noExtensions, faults }
  if (moved.count > 0)
    await tx`
      update open_extension present set properties = staged.properties from import_extension_update staged
      where ${isSame}`
  const [fresh] = await tx`select from import_extension limit 1`
  if (fresh)
    await tx`
      insert into open_extension (tenant_id, object_id, name, application_id, properties)
      select ${tenantId}, object_id, name, application_id, properties from import_extension order by line`
  return { faults, changed: moved.count, unchanged: same.count }
}
