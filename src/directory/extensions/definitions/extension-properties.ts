import { type Static, Type } from 'typebox'
import { ok } from '../../../api/operation.ts'
import type { Change } from '../../../db/change-log.ts'
import type { Query } from '../../../db/query.ts'
import { translateConstraints } from '../../../db/sqlstate.ts'
import { fail } from '../../../kernel/problem.ts'
import { isUuid } from '../../../kernel/uuid.ts'
import { operationsOn } from '../../entities/entity-operations.ts'
import type { EntitySet, Located } from '../../entities/entity-set.ts'
import type { Described, JsonObject, Stored } from '../../entities/property.ts'
import { listSchema } from '../../entities/schemas.ts'
import { contextOf, namespace, showEntity } from '../../entities/show-entity.ts'
import { typedObject } from '../../entities/type-names.ts'
import { findObject } from '../../objects/object-store.ts'
import { fieldsOf } from '../../odata/field.ts'
import type { ListSource } from '../../odata/list.ts'
import { operation } from '../../operation.ts'
import { forEachWrite } from '../../rights/declared-rights.ts'
import { isDataType } from '../data-types.ts'
import { definitionPermissions } from './permissions.ts'
import { removeValues } from './remove-values.ts'

translateConstraints({ extension_property_name_is_unique: 'DefinitionExistsAlready' })

/** A directory extension: a property that an application has defined for some kinds of objects. */
export const extensionProperty: Described = {
  kind: 'extensionProperty',
  noun: 'ExtensionProperty',
  properties: {
    id: { type: 'guid', filter: true, derive: ({ id }) => id },
    deletedDateTime: { type: 'dateTime', derive: () => null },
    appDisplayName: { type: 'string' },
    dataType: { type: 'string', filter: true },
    isMultiValued: { type: 'boolean' },
    isSyncedFromOnPremises: { type: 'boolean', default: false },
    name: { type: 'string', filter: true, sort: true },
    targetObjects: { type: 'strings' },
  },
}

const fields = fieldsOf([extensionProperty], {
  columns: { name: 'name', dataType: 'data_type' },
  filterAll: false,
})

/** The definitions of an application, or of all that are not deleted. */
function sourceOf(tx: Query, tenantId: string, applicationId?: string): ListSource {
  return {
    columns: tx`o.id, 'extensionProperty' as kind, jsonb_build_object('appDisplayName', a.display_name,
      'name', o.name, 'dataType', o.data_type, 'targetObjects', o.target_objects,
      'isMultiValued', o.is_multi_valued) as properties`,
    from: tx`extension_property o
      join directory_object a on a.tenant_id = o.tenant_id and a.id = o.application_id`,
    where: tx`o.tenant_id = ${tenantId} and a.deleted_at is null
      and ${applicationId === undefined ? tx`true` : tx`o.application_id = ${applicationId}`}`,
    id: 'o.id',
    fields,
    type: `${namespace}.extensionProperty`,
  }
}

const targets = ['User', 'Group', 'AdministrativeUnit', 'Application', 'Device', 'Organization']

const newDefinition = typedObject(['extensionProperty'], {
  name: Type.String(),
  dataType: Type.String(),
  targetObjects: Type.Array(Type.String(), { minItems: 1, maxItems: targets.length }),
  isMultiValued: Type.Optional(Type.Boolean()),
})

function readNewDefinition(body: JsonObject, application: JsonObject): JsonObject {
  const { name, dataType, targetObjects, isMultiValued = false } = body as Static<typeof newDefinition>
  if (!isDataType(dataType)) failValue('dataType')
  if (!targetObjects.every((value) => targets.includes(value))) failValue('targetObjects')
  if (!/^[A-Za-z][A-Za-z0-9_]{0,63}$/.test(name)) failValue('name')
  return {
    appDisplayName: String(application.displayName),
    name: `extension_${String(application.appId).replaceAll('-', '')}_${name}`,
    dataType,
    targetObjects: [...new Set(targetObjects)],
    isMultiValued,
  }
}

function failValue(property: string): never {
  return fail('InvalidPropertyValue', { property, resource: extensionProperty.noun }, { target: property })
}

const read = { row: definitionPermissions.readProperties }
const write = { row: definitionPermissions.writeProperties }

const extensionProperties: EntitySet<Stored> = {
  ...extensionProperty,
  clause: 'DIR-127',
  one: 'ExtensionProperty',
  many: 'ExtensionProperties',
  collections: ['/applications/:id/extensionProperties'],
  instances: ['/applications/:id/extensionProperties/:extensionProperty'],
  permissions: { read, create: write, update: write, delete: write },
  rights: forEachWrite('manageApplication'),
  selectable: false,
  async openToList({ tx, caller: { tenantId }, params }) {
    const { id } = await findObject(tx, tenantId, 'application', params.id ?? '')
    return { set: setOf(id), source: sourceOf(tx, tenantId, id) }
  },
  async openToCreate({ tx, caller: { tenantId }, params }) {
    const owner = await findObject(tx, tenantId, 'application', params.id ?? '', { lock: true })
    return {
      owner,
      async insert(properties) {
        const { name, dataType, targetObjects, isMultiValued } = properties
        const row = { id: crypto.randomUUID(), kind: extensionProperty.kind, properties }
        await tx`
          insert into extension_property
            (tenant_id, id, application_id, name, data_type, target_objects, is_multi_valued)
          values (${tenantId}, ${row.id}, ${owner.id}, ${name}, ${dataType}, ${targetObjects}, ${isMultiValued})`
        return locate(owner, row)
      },
    }
  },
  // The lock on the application is enough: nothing else changes its definitions.
  async find({ tx, caller: { tenantId }, params }, purpose) {
    const lock = purpose === 'write'
    const owner = await findObject(tx, tenantId, 'application', params.id ?? '', { lock })
    const id = params.extensionProperty ?? ''
    if (!isUuid(id)) fail('InvalidObjectIdentifier', { id: id.slice(0, 200) })
    const { columns, from, where } = sourceOf(tx, tenantId, owner.id)
    const [row] = await tx<Stored[]>`select ${columns} from ${from} where ${where} and o.id = ${id}`
    return locate(owner, row ?? fail('ObjectNotFound', { id }))
  },
  describeChange,
  creation: {
    body: newDefinition,
    read: async (_context, body, { owner }) => readNewDefinition(body, owner?.properties ?? {}),
  },
  async remove({ tx, caller: { tenantId } }, { row }) {
    await tx`delete from extension_property where tenant_id = ${tenantId} and id = ${row.id}`
    const changes = await removeValues(tx, tenantId, String(row.properties.name))
    return [...changes, describeChange('deleted', row)]
  },
}

function setOf(applicationId: string): string {
  return `applications('${applicationId}')/extensionProperties`
}

function locate(owner: Stored, row: Stored): Located<Stored> {
  return {
    row,
    owner,
    set: setOf(owner.id),
    path: `/applications/${owner.id}/extensionProperties/${row.id}`,
  }
}

function describeChange(kind: string, { id, properties: { name } }: Stored): Change {
  return { entity: extensionProperty.kind, entityId: id, kind, data: { name } }
}

const mostShown = 10_000

const getAvailableExtensionProperties = operation({
  name: 'getAvailableExtensionProperties',
  clause: 'DIR-127',
  summary: 'All directory extensions that can be used in this directory',
  method: 'POST',
  path: '/directoryObjects/getAvailableExtensionProperties',
  permission: { row: definitionPermissions.readAvailable },
  reads: true,
  body: Type.Object(
    { isSyncedFromOnPremises: Type.Optional(Type.Boolean()) },
    { additionalProperties: false },
  ),
  answers: { 200: listSchema(extensionProperty) },
  async run({ tx, caller: { tenantId }, body: { isSyncedFromOnPremises = false }, request }) {
    const { columns, from, where } = sourceOf(tx, tenantId)
    // Nothing is synchronised into this directory from elsewhere.
    const definitions = isSyncedFromOnPremises
      ? []
      : await tx<Stored[]>`select ${columns} from ${from} where ${where} order by o.name limit ${mostShown}`
    return ok({
      '@odata.context': contextOf(request.baseUrl, 'extensionProperties'),
      value: definitions.map((definition) => showEntity(extensionProperty, definition)),
    })
  },
})

export const extensionPropertyOperations = [
  ...operationsOn(extensionProperties, ['create', 'list', 'get', 'delete']),
  getAvailableExtensionProperties,
]
