import { randomInt } from 'node:crypto'
import { Type } from 'typebox'
import { created } from '../../../api/operation.ts'
import { appendChanges } from '../../../db/change-log.ts'
import { translateConstraints } from '../../../db/sqlstate.ts'
import { isUuid } from '../../../kernel/uuid.ts'
import { isStorableText } from '../../entities/storable.ts'
import { operation } from '../../operation.ts'
import { beforeWrite } from '../../write-rules/before-write.ts'
import { definitionPermissions } from './permissions.ts'
import {
  failValue,
  readProperties,
  readTargetTypes,
  requireOwner,
  type SchemaExtension,
  schemaExtensionSchema,
  sentProperties,
  sentTargets,
  showSchemaExtension,
} from './schema-extension.ts'

translateConstraints({ schema_extension_pkey: 'DefinitionExistsAlready' })

const body = Type.Object(
  {
    '@odata.type': Type.Optional(Type.String()),
    id: Type.String(),
    description: Type.Optional(Type.Union([Type.String({ maxLength: 1024 }), Type.Null()])),
    owner: Type.Optional(Type.String()),
    targetTypes: sentTargets,
    properties: sentProperties,
  },
  { additionalProperties: false },
)

export const createSchemaExtension = operation({
  name: 'createSchemaExtension',
  clause: 'DIR-128',
  summary: 'Define a schema extension: a complex property for some kinds of resources',
  method: 'POST',
  path: '/schemaExtensions',
  permission: { row: definitionPermissions.writeSchemas },
  body,
  answers: { 201: schemaExtensionSchema },
  async run(context) {
    const { tx, caller, body: sent, request, audit } = context
    const { tenantId } = caller
    const { description = null, owner = caller.applicationId } = sent
    if (!isUuid(owner)) failValue('owner')
    if (description !== null && !isStorableText(description)) failValue('description')
    await requireOwner(tx, caller, owner)
    const definition: SchemaExtension = {
      id: completeId(sent.id),
      description,
      owner: owner.toLowerCase(),
      status: 'InDevelopment',
      targetTypes: readTargetTypes(sent.targetTypes),
      properties: readProperties(sent.properties),
    }
    const { id, status, targetTypes, properties } = definition
    const shown = showSchemaExtension(definition)
    await beforeWrite(context, {
      verb: 'create',
      kind: 'schemaExtension',
      id: undefined,
      before: {},
      changes: shown,
    })
    await tx`
      insert into schema_extension (tenant_id, id, description, owner, status, target_types, properties)
      values (${tenantId}, ${id}, ${description}, ${definition.owner}, ${status}, ${targetTypes},
        ${tx.json(properties)})`
    audit({ action: 'create schemaExtension', target: `/schemaExtensions/${id}`, after: shown })
    await appendChanges(tx, tenantId, [{ entity: 'schemaExtension', entityId: id, kind: 'created' }])
    return created(
      { '@odata.context': `${request.baseUrl}/$metadata#schemaExtensions/$entity`, ...shown },
      { location: `${request.baseUrl}/schemaExtensions/${id}` },
    )
  },
})

const alphabet = 'abcdefghijklmnopqrstuvwxyz0123456789'

/** `<domain>_<name>` as it was sent, or a name alone with a prefix that nobody else has. */
function completeId(sent: string): string {
  if (/^[a-z][a-z0-9]{0,62}_[A-Za-z][A-Za-z0-9_]{0,63}$/.test(sent) && !sent.startsWith('extension_'))
    return sent
  if (!/^[A-Za-z][A-Za-z0-9]{0,63}$/.test(sent)) return failValue('id')
  const random = Array.from({ length: 8 }, () => alphabet[randomInt(alphabet.length)]).join('')
  return `ext${random}_${sent}`
}
