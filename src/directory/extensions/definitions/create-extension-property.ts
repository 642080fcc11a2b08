import { Type } from 'typebox'
import { created } from '../../../api/operation.ts'
import { appendChanges } from '../../../db/change-log.ts'
import { translateConstraints } from '../../../db/sqlstate.ts'
import { fail } from '../../../kernel/problem.ts'
import { findObject } from '../../objects/object-store.ts'
import { operation } from '../../operation.ts'
import { beforeWrite } from '../../write-rules/before-write.ts'
import { type DataType, isDataType } from '../data-types.ts'
import {
  type ExtensionProperty,
  extensionPropertiesContext,
  extensionPropertySchema,
  showExtensionProperty,
} from './extension-property.ts'
import { definitionPermissions } from './permissions.ts'

translateConstraints({ extension_property_name_is_unique: 'DefinitionExistsAlready' })

const targets = ['User', 'Group', 'AdministrativeUnit', 'Application', 'Device', 'Organization']

const body = Type.Object(
  {
    '@odata.type': Type.Optional(Type.String()),
    name: Type.String(),
    dataType: Type.String(),
    targetObjects: Type.Array(Type.String(), { minItems: 1, maxItems: targets.length }),
    isMultiValued: Type.Optional(Type.Boolean()),
  },
  { additionalProperties: false },
)

export const createExtensionProperty = operation({
  name: 'createExtensionProperty',
  clause: 'DIR-127',
  summary: 'Define a directory extension: a property for some kinds of directory objects',
  method: 'POST',
  path: '/applications/:id/extensionProperties',
  permission: { row: definitionPermissions.writeProperties },
  body,
  answers: { 201: extensionPropertySchema },
  async run(context) {
    const { tx, caller, params, body: sent, request, audit } = context
    const { tenantId } = caller
    const dataType = readDataType(sent.dataType)
    const targetObjects = readTargets(sent.targetObjects)
    const application = await findObject(tx, tenantId, 'application', params.id ?? '', { lock: true })
    const definition: ExtensionProperty = {
      id: crypto.randomUUID(),
      applicationId: application.id,
      appDisplayName: String(application.properties.displayName),
      name: nameProperty(String(application.properties.appId), sent.name),
      dataType,
      targetObjects,
      isMultiValued: sent.isMultiValued ?? false,
    }
    const { id, name, isMultiValued } = definition
    await beforeWrite(context, {
      verb: 'create',
      kind: 'extensionProperty',
      id: undefined,
      owner: application,
      before: {},
      changes: showExtensionProperty(definition),
    })
    await tx`
      insert into extension_property
        (tenant_id, id, application_id, name, data_type, target_objects, is_multi_valued)
      values (${tenantId}, ${id}, ${application.id}, ${name}, ${dataType}, ${targetObjects}, ${isMultiValued})`
    const target = `/applications/${application.id}/extensionProperties/${id}`
    audit({ action: 'create extensionProperty', target, after: showExtensionProperty(definition) })
    await appendChanges(tx, tenantId, [
      { entity: 'extensionProperty', entityId: id, kind: 'created', data: { name } },
    ])
    return created(
      {
        '@odata.context': `${extensionPropertiesContext(request.baseUrl, application.id)}/$entity`,
        ...showExtensionProperty(definition),
      },
      { location: `${request.baseUrl}${target}` },
    )
  },
})

/** `extension_<appId without dashes>_<name>` */
function nameProperty(appId: string, name: string): string {
  if (!/^[A-Za-z][A-Za-z0-9_]{0,63}$/.test(name)) failValue('name')
  return `extension_${appId.replaceAll('-', '')}_${name}`
}

function readDataType(value: string): DataType {
  return isDataType(value) ? value : failValue('dataType')
}

function readTargets(values: readonly string[]): string[] {
  if (!values.every((value) => targets.includes(value))) failValue('targetObjects')
  return [...new Set(values)]
}

function failValue(property: string): never {
  return fail('InvalidPropertyValue', { property, resource: 'ExtensionProperty' }, { target: property })
}
