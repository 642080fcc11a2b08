import { appendSelected } from '../../db/change-log.ts'
import type { Tx } from '../../db/database.ts'
import type { Fragment } from '../../db/query.ts'
import { Problem } from '../../kernel/problem.ts'
import type { JsonObject } from '../entities/property.ts'
import { extensionPropertiesFor } from '../extensions/custom-properties.ts'
import { listOwnAppIds } from '../first-start/own-clients.ts'
import { memberKinds, ownerKinds, roleMemberKinds } from '../membership/relations.ts'
import {
  type EdgeRules,
  type Fault,
  findEdgeFaults,
  findExtensionFaults,
  findObjectFaults,
  findOwnClientFaults,
  findRepeatedEdges,
} from './find-faults.ts'
import { type Definition, type ImportCounts, ImportFailed, maxFaults } from './import-result.ts'
import { stages } from './stage.ts'

interface Staged {
  readonly counts: ImportCounts
  readonly definitions: readonly Definition[]
  /** The faults of single lines, which were found while reading. */
  readonly faults: readonly Fault[]
}

const edges: readonly EdgeRules[] = [
  {
    stage: 'member',
    containers: ['group'],
    members: memberKinds,
    words: ['group', 'member'],
  },
  {
    stage: 'roleMember',
    containers: ['directoryRole'],
    members: roleMemberKinds,
    words: ['role', 'member'],
  },
  {
    stage: 'owner',
    containers: ['group', 'application', 'servicePrincipal', 'device'],
    members: ownerKinds,
    words: ['object', 'owner'],
  },
]

/** Checks what is staged as a whole and stores it. With faults, everything is still checked, to name them all. */
export async function applyStaged(tx: Tx, tenantId: string, staged: Staged): Promise<void> {
  const { counts, definitions } = staged
  const faults = [...staged.faults]
  const left = () => Math.max(maxFaults - faults.length, 1)

  faults.push(...(await findOwnClientFaults(tx, tenantId, left())))
  const storedObjects = await storeObjects(tx, tenantId, counts.object, () =>
    findObjectFaults(tx, tenantId, left()),
  )
  faults.push(...storedObjects)
  faults.push(...(await storeDefinitions(tx, tenantId, definitions)))
  faults.push(...(await checkCustomProperties(tx, tenantId, left())))
  for (const rules of edges)
    if (counts[rules.stage] > 0)
      faults.push(...(await storeEdges(tx, tenantId, rules, counts[rules.stage], left())))
  if (counts.extension > 0) faults.push(...(await storeExtensions(tx, tenantId, left())))
  if (faults.length > 0) throw new ImportFailed(sortFaults(faults))
  await logChanges(tx, tenantId, counts)
}

function sortFaults(faults: readonly Fault[]): Fault[] {
  return [...faults].sort((one, other) => one.line - other.line).slice(0, maxFaults)
}

class Repeated extends Error {}

/**
 * Inserts and counts. Only when rows were skipped, `explain` finds out which and why, in the state before the insert.
 * The other rows are inserted all the same, so that the checks that follow find them.
 */
async function insertAll(
  tx: Tx,
  expected: number,
  insert: (tx: Tx) => Fragment,
  explain: () => Promise<Fault[]>,
): Promise<Fault[]> {
  try {
    await tx.savepoint(async (inner) => {
      const { count } = await insert(inner)
      if (count < expected) throw new Repeated()
    })
    return []
  } catch (error) {
    if (!(error instanceof Repeated)) throw error
    const faults = await explain()
    await insert(tx)
    return faults
  }
}

async function storeObjects(
  tx: Tx,
  tenantId: string,
  expected: number,
  explain: () => Promise<Fault[]>,
): Promise<Fault[]> {
  if (expected === 0) return []
  const insert = (inner: Tx) => inner`
    insert into directory_object (tenant_id, id, kind, properties, created_at)
    select ${tenantId}, id, kind, properties, coalesce(created_at, now()) from import_object order by id
    on conflict do nothing`
  const faults = await insertAll(tx, expected, insert, explain)
  await tx`analyze directory_object`
  return faults
}

async function storeEdges(
  tx: Tx,
  tenantId: string,
  rules: EdgeRules,
  expected: number,
  limit: number,
): Promise<Fault[]> {
  const faults = await findEdgeFaults(tx, tenantId, rules, limit)
  if (faults.length > 0) return faults
  const table = tx(stages[rules.stage].table)
  // In the order of the primary key: its pages are filled one after the other.
  const insert = (inner: Tx) =>
    rules.stage === 'owner'
      ? inner`
        insert into owner_edge (tenant_id, object_id, owner_id)
        select ${tenantId}, container_id, member_id from ${table} order by container_id, member_id
        on conflict do nothing`
      : inner`
        insert into member_edge (tenant_id, container_id, member_id)
        select ${tenantId}, container_id, member_id from ${table} order by member_id, container_id
        on conflict do nothing`
  return await insertAll(tx, expected, insert, () => findRepeatedEdges(tx, tenantId, rules, limit))
}

async function storeExtensions(tx: Tx, tenantId: string, limit: number): Promise<Fault[]> {
  const faults = await findExtensionFaults(tx, tenantId, limit)
  if (faults.length > 0) return faults
  await tx`
    insert into open_extension (tenant_id, object_id, name, application_id, properties)
    select ${tenantId}, object_id, name, application_id, properties from import_extension order by line`
  return []
}

async function storeDefinitions(
  tx: Tx,
  tenantId: string,
  definitions: readonly Definition[],
): Promise<Fault[]> {
  const faults: Fault[] = []
  for (const { line, entry } of definitions) {
    const { count } = await (entry.type === 'extensionProperty'
      ? insertExtensionProperty(tx, tenantId, entry.definition)
      : insertSchemaExtension(tx, tenantId, entry.definition))
    if (count === 0)
      faults.push({ line, reason: 'The definition is there already, or its application is not.' })
  }
  return faults
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
async function checkCustomProperties(tx: Tx, tenantId: string, limit: number): Promise<Fault[]> {
  const faults: Fault[] = []
  for (let after = 0; faults.length < limit; ) {
    const rows = await tx<{ line: number; kind: string; properties: JsonObject; custom: string[] }[]>`
      select line, kind, properties, custom from import_object
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

async function logChanges(tx: Tx, tenantId: string, counts: ImportCounts): Promise<void> {
  const total = counts.object + counts.member + counts.roleMember + counts.owner + counts.extension
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
  ])
}
