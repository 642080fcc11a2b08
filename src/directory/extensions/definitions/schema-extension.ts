import { Type } from 'typebox'
import type { Caller } from '../../../auth/caller.ts'
import type { Query } from '../../../db/query.ts'
import { fail } from '../../../kernel/problem.ts'
import type { Json } from '../../entities/property.ts'
import { makeFields } from '../../odata/field.ts'
import type { ListSource } from '../../odata/list.ts'
import { targetNames } from '../custom-properties.ts'
import type { DataType } from '../data-types.ts'

export type Status = 'InDevelopment' | 'Available' | 'Deprecated'

export interface SchemaProperty {
  readonly name: string
  readonly type: DataType
}

/** A schema extension: a complex property with typed fields, for some kinds of resources. */
export interface SchemaExtension {
  readonly id: string
  readonly description: string | null
  readonly owner: string
  readonly status: Status
  readonly targetTypes: readonly string[]
  readonly properties: readonly SchemaProperty[]
}

const maxProperties = 100
const types: readonly DataType[] = ['Binary', 'Boolean', 'DateTime', 'Integer', 'String']

export const schemaExtensionSchema = Type.Object({
  id: Type.String(),
  description: Type.Union([Type.String(), Type.Null()]),
  owner: Type.String(),
  status: Type.String(),
  targetTypes: Type.Array(Type.String()),
  properties: Type.Array(Type.Object({ name: Type.String(), type: Type.String() })),
})

export const sentProperties = Type.Array(
  Type.Object(
    { '@odata.type': Type.Optional(Type.String()), name: Type.String(), type: Type.String() },
    { additionalProperties: false },
  ),
  { minItems: 1, maxItems: maxProperties },
)
export const sentTargets = Type.Array(Type.String(), { minItems: 1, maxItems: 20 })

const fields = makeFields([
  { name: 'id', sql: 'd.id', type: 'text', filter: true, sort: true },
  { name: 'description', sql: 'd.description', type: 'text', filter: true, sort: false },
  { name: 'owner', sql: 'd.owner', type: 'text', filter: true, sort: false },
  { name: 'status', sql: 'd.status', type: 'text', filter: true, sort: false },
])

/** All schema extensions; the table's alias is `d`. */
export function schemaExtensionsOf(tx: Query, tenantId: string): ListSource {
  return {
    columns: tx`d.id, d.description, d.owner, d.status, d.target_types as "targetTypes", d.properties`,
    from: tx`schema_extension d`,
    where: tx`d.tenant_id = ${tenantId}`,
    // Pages go by a uuid, and the id is a name.
    id: 'md5(d.id)::uuid',
    fields,
    type: 'vendor.graph.schemaExtension',
  }
}

export async function findSchemaExtension(
  tx: Query,
  tenantId: string,
  id: string,
  { lock = false } = {},
): Promise<SchemaExtension> {
  if (!/^\w{1,200}$/.test(id)) fail('ObjectNotFound', { id: id.slice(0, 200) })
  const { columns, from, where } = schemaExtensionsOf(tx, tenantId)
  const [definition] = await tx<SchemaExtension[]>`
    select ${columns} from ${from} where ${where} and d.id = ${id} ${lock ? tx`for update` : tx``}`
  return definition ?? fail('ObjectNotFound', { id })
}

export function showSchemaExtension(definition: SchemaExtension): Record<string, Json> {
  const { id, description, targetTypes, status, owner, properties } = definition
  return {
    id,
    description,
    targetTypes,
    status,
    owner,
    properties: properties.map(({ name, type }) => ({ name, type })),
  }
}

/** Only the application that owns a definition changes it, or a person who owns that application. */
export async function requireOwner(tx: Query, caller: Caller, owner: string): Promise<void> {
  if (caller.applicationId === owner.toLowerCase()) return
  if (caller.kind !== 'delegated') fail('InsufficientPrivileges')
  const [edge] = await tx`
    select 1 from owner_edge
    join directory_object application on application.tenant_id = owner_edge.tenant_id
      and application.id = owner_edge.object_id and application.deleted_at is null
    where owner_edge.tenant_id = ${caller.tenantId} and owner_edge.owner_id = ${caller.objectId}
      and application.kind in ('application', 'servicePrincipal')
      and lower(application.app_id) = ${owner.toLowerCase()}`
  if (!edge) fail('InsufficientPrivileges')
}

export function readProperties(sent: readonly { name: string; type: string }[]): SchemaProperty[] {
  const names = new Set(sent.map(({ name }) => name.toLowerCase()))
  if (names.size !== sent.length) failValue('properties')
  return sent.map(({ name, type }) => {
    const known = types.find((candidate) => candidate === type)
    if (!/^[A-Za-z][A-Za-z0-9_]{0,127}$/.test(name) || !known) return failValue('properties')
    return { name, type: known }
  })
}

const targetsByName = new Map(
  [...Object.values(targetNames), 'AdministrativeUnit']
    .filter((name) => name !== 'Application')
    .map((name) => [name.toLowerCase(), name]),
)

export function readTargetTypes(sent: readonly string[]): string[] {
  const read = sent.map((name) => targetsByName.get(name.toLowerCase()) ?? failValue('targetTypes'))
  return [...new Set(read)]
}

export function failValue(property: string): never {
  return fail('InvalidPropertyValue', { property, resource: 'SchemaExtension' }, { target: property })
}
