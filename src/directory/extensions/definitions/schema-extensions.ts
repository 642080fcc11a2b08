import type { Static } from 'typebox'
import type { Caller } from '../../../auth/caller.ts'
import type { Change } from '../../../db/change-log.ts'
import type { Query } from '../../../db/query.ts'
import { translateConstraints } from '../../../db/sqlstate.ts'
import { fail } from '../../../kernel/problem.ts'
import { operationsOn } from '../../entities/entity-operations.ts'
import type { EntitySet, Located } from '../../entities/entity-set.ts'
import type { Described, Stored } from '../../entities/property.ts'
import { namespace } from '../../entities/show-entity.ts'
import { fieldsOf } from '../../odata/field.ts'
import type { ListSource } from '../../odata/list.ts'
import { forEachWrite } from '../../rights/declared-rights.ts'
import { definitionPermissions } from './permissions.ts'
import { removeValues } from './remove-values.ts'
import {
  changeDefinition,
  changedSchemaExtension,
  type Definition,
  newSchemaExtension,
  readNewDefinition,
  type SchemaExtension,
} from './schema-extension.ts'

translateConstraints({ schema_extension_pkey: 'DefinitionExistsAlready' })

export const schemaExtension: Described = {
  kind: 'schemaExtension',
  noun: 'SchemaExtension',
  properties: {
    id: { type: 'string', filter: true, sort: true, derive: ({ id }) => id },
    description: { type: 'string', filter: true },
    targetTypes: { type: 'strings' },
    status: { type: 'string', filter: true },
    owner: { type: 'string', filter: true },
    properties: { type: { objects: { name: { type: 'string' }, type: { type: 'string' } } } },
  },
}

const fields = fieldsOf([schemaExtension], {
  columns: { id: 'id', description: 'description', status: 'status', owner: 'owner' },
  filterAll: false,
})

function sourceOf(tx: Query, tenantId: string): ListSource {
  return {
    columns: tx`o.id, 'schemaExtension' as kind, jsonb_build_object('description', o.description,
      'owner', o.owner, 'status', o.status, 'targetTypes', o.target_types, 'properties', o.properties)
      as properties`,
    from: tx`schema_extension o`,
    where: tx`o.tenant_id = ${tenantId}`,
    // Pages go by a uuid, and the id is a name.
    id: 'md5(o.id)::uuid',
    fields,
    type: `${namespace}.schemaExtension`,
  }
}

const set = 'schemaExtensions'
const read = { row: definitionPermissions.readSchemas }
const write = { row: definitionPermissions.writeSchemas }

const schemaExtensions: EntitySet<SchemaExtension> = {
  ...schemaExtension,
  clause: 'DIR-128',
  one: 'SchemaExtension',
  many: 'SchemaExtensions',
  collections: [`/${set}`],
  instances: [`/${set}/:id`],
  permissions: { read, create: write, update: write, delete: write },
  rights: forEachWrite('defineSchema'),
  selectable: false,
  openToList: async ({ tx, caller }) => ({ set, source: sourceOf(tx, caller.tenantId) }),
  openToCreate: async ({ tx, caller: { tenantId } }) => ({
    async insert({ id, ...sent }) {
      const properties = sent as Definition
      const { description, owner, status, targetTypes, properties: typed } = properties
      await tx`
        insert into schema_extension (tenant_id, id, description, owner, status, target_types, properties)
        values (${tenantId}, ${id}, ${description}, ${owner}, ${status}, ${targetTypes as string[]},
          ${tx.json(typed)})`
      return locate({ id: String(id), kind: schemaExtension.kind, properties })
    },
  }),
  async find({ tx, caller: { tenantId }, params: { id = '' } }, purpose) {
    if (!/^\w{1,200}$/.test(id)) fail('ObjectNotFound', { id: id.slice(0, 200) })
    const { columns, from, where } = sourceOf(tx, tenantId)
    const [row] = await tx<SchemaExtension[]>`
      select ${columns} from ${from} where ${where} and o.id = ${id} ${purpose === 'write' ? tx`for update` : tx``}`
    return locate(row ?? fail('ObjectNotFound', { id }))
  },
  describeChange,
  creation: {
    body: newSchemaExtension,
    async read({ tx, caller }, body) {
      const definition = readNewDefinition(body as Static<typeof newSchemaExtension>, caller)
      await requireOwner(tx, caller, definition.owner)
      return definition
    },
  },
  update: {
    body: changedSchemaExtension,
    async read({ tx, caller }, { row }, body) {
      await requireOwner(tx, caller, row.properties.owner)
      return changeDefinition(row, body as Static<typeof changedSchemaExtension>)
    },
    async store({ tx, caller: { tenantId } }, { row }, changes) {
      const properties = changes as Definition
      const { description, status, targetTypes, properties: typed } = properties
      await tx`
        update schema_extension set description = ${description}, status = ${status},
          target_types = ${targetTypes as string[]}, properties = ${tx.json(typed)}
        where tenant_id = ${tenantId} and id = ${row.id}`
      return { ...row, properties }
    },
    answersWithEntity: false,
  },
  async remove({ tx, caller }, { row }) {
    const { status, owner } = row.properties
    await requireOwner(tx, caller, owner)
    if (status !== 'InDevelopment') fail('DefinitionInUse', { status })
    await tx`delete from schema_extension where tenant_id = ${caller.tenantId} and id = ${row.id}`
    return [...(await removeValues(tx, caller.tenantId, row.id)), describeChange('deleted', row)]
  },
}

function locate(row: SchemaExtension): Located<SchemaExtension> {
  return { row, set, path: `/${set}/${row.id}` }
}

function describeChange(kind: string, { id }: Stored): Change {
  return { entity: schemaExtension.kind, entityId: id, kind }
}

/** Only the application that owns a definition changes it, or a person who owns that application. */
async function requireOwner(tx: Query, caller: Caller, owner: string): Promise<void> {
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

export const schemaExtensionOperations = operationsOn(schemaExtensions, [
  'create',
  'list',
  'get',
  'update',
  'delete',
])
