import { Type } from 'typebox'
import { noContent } from '../../../api/operation.ts'
import { appendChanges } from '../../../db/change-log.ts'
import { isStorableText } from '../../entities/storable.ts'
import { operation } from '../../operation.ts'
import { beforeWrite } from '../../write-rules/before-write.ts'
import { definitionPermissions } from './permissions.ts'
import {
  failValue,
  findSchemaExtension,
  readProperties,
  readTargetTypes,
  requireOwner,
  type SchemaExtension,
  type SchemaProperty,
  type Status,
  sentProperties,
  sentTargets,
  showSchemaExtension,
} from './schema-extension.ts'

const body = Type.Object(
  {
    '@odata.type': Type.Optional(Type.String()),
    id: Type.Optional(Type.String()),
    owner: Type.Optional(Type.String()),
    description: Type.Optional(Type.Union([Type.String({ maxLength: 1024 }), Type.Null()])),
    status: Type.Optional(Type.String()),
    targetTypes: Type.Optional(sentTargets),
    properties: Type.Optional(sentProperties),
  },
  { additionalProperties: false },
)

export const updateSchemaExtension = operation({
  name: 'updateSchemaExtension',
  clause: 'DIR-128',
  summary: 'Change a schema extension: its status, its description, and more targets and properties',
  method: 'PATCH',
  path: '/schemaExtensions/:id',
  permission: { row: definitionPermissions.writeSchemas },
  body,
  answers: { 204: null },
  async run(context) {
    const { tx, caller, params, body: sent, audit } = context
    const { tenantId } = caller
    const before = await findSchemaExtension(tx, tenantId, params.id ?? '', { lock: true })
    await requireOwner(tx, caller, before.owner)
    if (sent.id !== undefined && sent.id !== before.id) failValue('id')
    if (sent.owner !== undefined && sent.owner.toLowerCase() !== before.owner) failValue('owner')
    if (typeof sent.description === 'string' && !isStorableText(sent.description)) failValue('description')
    const after: SchemaExtension = {
      ...before,
      description: sent.description === undefined ? before.description : sent.description,
      status: sent.status === undefined ? before.status : nextStatus(before.status, sent.status),
      targetTypes: sent.targetTypes ? addTargets(before, sent.targetTypes) : before.targetTypes,
      properties: sent.properties ? addProperties(before, sent.properties) : before.properties,
    }
    const { description, status, targetTypes, properties } = after
    await beforeWrite(context, {
      verb: 'update',
      kind: 'schemaExtension',
      id: before.id,
      before: showSchemaExtension(before),
      changes: showSchemaExtension(after),
    })
    await tx`
      update schema_extension set description = ${description}, status = ${status},
        target_types = ${targetTypes as string[]}, properties = ${tx.json(properties)}
      where tenant_id = ${tenantId} and id = ${before.id}`
    audit({
      action: 'update schemaExtension',
      target: `/schemaExtensions/${before.id}`,
      before: showSchemaExtension(before),
      after: showSchemaExtension(after),
    })
    await appendChanges(tx, tenantId, [{ entity: 'schemaExtension', entityId: before.id, kind: 'updated' }])
    return noContent
  },
})

/** Once it is available it can be deprecated and taken back, but never withdrawn into development. */
const nextOf: Readonly<Record<Status, readonly Status[]>> = {
  InDevelopment: ['InDevelopment', 'Available'],
  Available: ['Available', 'Deprecated'],
  Deprecated: ['Deprecated', 'Available'],
}

function nextStatus(status: Status, sent: string): Status {
  return nextOf[status].find((next) => next === sent) ?? failValue('status')
}

/** What others may rely on stays: changes add. */
function addTargets(before: SchemaExtension, sent: readonly string[]): string[] {
  return [...new Set([...before.targetTypes, ...readTargetTypes(sent)])]
}

function addProperties(
  before: SchemaExtension,
  sent: readonly { name: string; type: string }[],
): SchemaProperty[] {
  const added = readProperties(sent).filter(({ name, type }) => {
    const known = before.properties.find((property) => property.name.toLowerCase() === name.toLowerCase())
    if (known && (known.name !== name || known.type !== type)) failValue('properties')
    return !known
  })
  return [...before.properties, ...added]
}
