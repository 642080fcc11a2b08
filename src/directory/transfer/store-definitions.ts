import type { Tx } from '../../db/database.ts'
import { Problem } from '../../kernel/problem.ts'
import type { JsonObject } from '../entities/property.ts'
import { extensionPropertiesFor } from '../extensions/custom-properties.ts'
import { listOwnAppIds } from '../first-start/own-clients.ts'
import type { Fault } from './find-faults.ts'
import type { Definition } from './import-result.ts'

export async function storeDefinitions(
  tx: Tx,
  tenantId: string,
  definitions: readonly Definition[],
): Promise<{ faults: readonly Fault[]; unchanged: number }> {
  const faults: Fault[] = []
  let unchanged = 0
  for (const { line, entry } of definitions) {
    const { count } = await (entry.type === 'extensionProperty'
      ? insertExtensionProperty(tx, tenantId, entry.definition)
      : insertSchemaExtension(tx, tenantId, entry.definition))
    if (count > 0) continue
    if (await hasDefinition(tx, tenantId, entry)) unchanged++
    else faults.push({ line, reason: 'The definition is there already, or its application is not.' })
  }
  return { faults, unchanged }
}

/** True where the directory has this very definition. */
async function hasDefinition(
  tx: Tx,
  tenantId: string,
  { type, definition }: Definition['entry'],
): Promise<boolean> {
  const { id, application, name, dataType, targetObjects, isMultiValued, status, targetTypes, properties } =
    definition
  const rows =
    type === 'extensionProperty'
      ? await tx`
        select from extension_property
        where tenant_id = ${tenantId} and id = ${id}::uuid and application_id = ${application}::uuid and name = ${name}::text
          and data_type = ${dataType}::text and target_objects = ${targetObjects}::text[]
          and is_multi_valued = ${isMultiValued === true}`
      : await tx`
        select from schema_extension
        where tenant_id = ${tenantId} and id = ${id}::text and owner = ${definition.owner}::text and status = ${status}::text
          and target_types = ${targetTypes}::text[] and properties = ${tx.json(properties)}::jsonb
          and description is not distinct from ${definition.description ?? null}::text`
  return rows.length > 0
}

async function insertExtensionProperty(tx: Tx, tenantId: string, definition: JsonObject) {
  const { id, application, name, dataType, targetObjects, isMultiValued } = definition
  return tx`
    insert into extension_property
      (tenant_id, id, application_id, name, data_type, target_objects, is_multi_valued)
    select ${tenantId}, ${id}::uuid, o.id, ${name}::text, ${dataType}::text, ${targetObjects}::text[],
      ${isMultiValued === true}
    from directory_object o
    where o.tenant_id = ${tenantId} and o.id = ${application}::uuid and o.kind = 'application'
      and o.deleted_at is null and o.app_id <> all(${await listOwnAppIds(tx, tenantId)})
    on conflict do nothing`
}

function insertSchemaExtension(tx: Tx, tenantId: string, definition: JsonObject) {
  const { id, description = null, owner, status, targetTypes, properties } = definition
  return tx`
    insert into schema_extension (tenant_id, id, description, owner, status, target_types, properties)
    values (${tenantId}, ${id}, ${description}, ${owner}, ${status}, ${targetTypes}, ${tx.json(properties)})
    on conflict do nothing`
}

const checkedAtOnce = 1000

/** Values of extension properties, by their definitions: those of the file are stored by now. */
export async function checkCustomProperties(tx: Tx, tenantId: string, limit: number): Promise<Fault[]> {
  const faults: Fault[] = []
  for (let after = 0; faults.length < limit; ) {
    const rows = await tx<{ line: number; kind: string; properties: JsonObject; custom: string[] }[]>`
      select line, kind, properties, custom from (
        select line, kind, properties, custom from import_object
        union all select line, kind, properties, custom from import_update
      ) staged
      where custom is not null and line > ${after} order by line limit ${checkedAtOnce}`
    for (const row of rows) {
      const reason = await checkCustom(tx, tenantId, row)
      if (reason !== undefined) faults.push({ line: row.line, reason })
    }
    after = rows.at(-1)?.line ?? 0
    if (rows.length < checkedAtOnce) break
  }
  return faults
}

async function checkCustom(
  tx: Tx,
  tenantId: string,
  { kind, properties, custom }: { kind: string; properties: JsonObject; custom: readonly string[] },
): Promise<string | undefined> {
  const definitions = await extensionPropertiesFor(tx, tenantId, kind, custom)
  try {
    for (const name of custom) {
      const definition = definitions.get(name)
      if (!definition) return `Invalid property '${name}'.`
      definition.update(undefined, properties[name])
    }
    return undefined
  } catch (error) {
    if (error instanceof Problem) return error.message
    throw error
  }
}
