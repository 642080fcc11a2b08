import type { Query } from '../../db/query.ts'
import { fail } from '../../kernel/problem.ts'
import { isJsonObject } from '../entities/storable.ts'
import { type DataType, maxValues, readValueOf } from './data-types.ts'
import { isDefinitionName } from './extension-name.ts'

/** A property that an application has defined: a directory extension, or a schema extension with its fields. */
export interface CustomProperty {
  readonly name: string
  /**
   * The value to store after `sent` is applied to the stored one; undefined: the value is removed.
   * Fails with InvalidPropertyValue when the definition does not allow the value.
   */
  update(stored: unknown, sent: unknown): unknown
}

/** The names that definitions have for the kinds that can hold their values. */
export const targetNames = {
  user: 'User',
  group: 'Group',
  device: 'Device',
  organization: 'Organization',
  application: 'Application',
  message: 'Message',
  event: 'Event',
  contact: 'Contact',
  post: 'Post',
  todoTask: 'TodoTask',
  todoTaskList: 'TodoTaskList',
} as const

/**
 * The custom properties of a kind of resource, by name: all of them, or those `among` some names. Values lie in the
 * resource's `properties` under these names. A kind that no definition can target has none. The definitions are locked
 * until the transaction ends, so that no value is stored after its definition was deleted.
 */
export async function extensionPropertiesFor(
  tx: Query,
  tenantId: string,
  kind: string,
  among?: readonly string[],
): Promise<ReadonlyMap<string, CustomProperty>> {
  const names = among?.filter((name) => isDefinitionName(name))
  if (!Object.hasOwn(targetNames, kind) || names?.length === 0) return new Map()
  const target = targetNames[kind as keyof typeof targetNames]
  const [directory, schema] = [
    await readDirectoryExtensions(tx, tenantId, target, names),
    await readSchemaExtensions(tx, tenantId, target, names),
  ]
  const properties = [
    ...directory.map((row) => describeDirectoryExtension(row, target)),
    ...schema.map((row) => describeSchemaExtension(row, target)),
  ]
  return new Map(properties.map((property) => [property.name, property]))
}

interface DirectoryExtension {
  readonly name: string
  readonly data_type: DataType
  readonly is_multi_valued: boolean
}

function readDirectoryExtensions(
  tx: Query,
  tenantId: string,
  target: string,
  names: readonly string[] | undefined,
) {
  return tx<DirectoryExtension[]>`
    select definition.name, definition.data_type, definition.is_multi_valued
    from extension_property as definition
    join directory_object as application
      on application.tenant_id = definition.tenant_id and application.id = definition.application_id
      and application.deleted_at is null
    where definition.tenant_id = ${tenantId} and ${target} = any(definition.target_objects)
      ${names ? tx`and definition.name = any(${names as string[]})` : tx``}
    for share of definition`
}

interface SchemaExtension {
  readonly id: string
  readonly status: string
  readonly properties: readonly { readonly name: string; readonly type: DataType }[]
}

function readSchemaExtensions(
  tx: Query,
  tenantId: string,
  target: string,
  names: readonly string[] | undefined,
) {
  return tx<SchemaExtension[]>`
    select id, status, properties from schema_extension
    where tenant_id = ${tenantId} and ${target} = any(target_types)
      ${names ? tx`and id = any(${names as string[]})` : tx``}
    for share`
}

function describeDirectoryExtension(row: DirectoryExtension, resource: string): CustomProperty {
  const read = readValueOf[row.data_type]
  return {
    name: row.name,
    update(_stored, sent) {
      if (sent === null) return undefined
      const value = row.is_multi_valued ? readValues(sent, read) : read(sent)
      return value ?? fail('InvalidPropertyValue', { property: row.name, resource })
    },
  }
}

function readValues(sent: unknown, read: (value: unknown) => unknown): unknown[] | undefined {
  if (!Array.isArray(sent) || sent.length > maxValues) return undefined
  const values = sent.map(read)
  return values.includes(undefined) ? undefined : values
}

function describeSchemaExtension(row: SchemaExtension, resource: string): CustomProperty {
  const types = new Map(row.properties.map(({ name, type }) => [name, type]))
  return {
    name: row.id,
    update(stored, sent) {
      if (sent === null) return undefined
      // A deprecated definition takes no new data; stored data is still shown and can be removed.
      if (row.status === 'Deprecated' || !isJsonObject(sent))
        fail('InvalidPropertyValue', { property: row.id, resource })
      const fields = new Map<string, unknown>(Object.entries(isJsonObject(stored) ? stored : {}))
      for (const [name, value] of Object.entries(sent)) {
        if (name === '@odata.type') continue
        const type = types.get(name)
        if (type === undefined) fail('InvalidProperty', { property: `${row.id}/${name.slice(0, 100)}` })
        const read = readValueOf[type](value)
        if (value !== null && read === undefined)
          fail('InvalidPropertyValue', { property: `${row.id}/${name}`, resource })
        if (value === null) fields.delete(name)
        else fields.set(name, read)
      }
      return fields.size === 0 ? undefined : Object.fromEntries(fields)
    },
  }
}
