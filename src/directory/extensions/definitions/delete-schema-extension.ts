import { noContent } from '../../../api/operation.ts'
import { appendChanges } from '../../../db/change-log.ts'
import { fail } from '../../../kernel/problem.ts'
import { operation } from '../../operation.ts'
import { beforeWrite } from '../../write-rules/before-write.ts'
import { definitionPermissions } from './permissions.ts'
import { removeValues } from './remove-values.ts'
import { findSchemaExtension, requireOwner, showSchemaExtension } from './schema-extension.ts'

export const deleteSchemaExtension = operation({
  name: 'deleteSchemaExtension',
  clause: 'DIR-128',
  summary: 'Delete a schema extension that is in development, with all its values',
  method: 'DELETE',
  path: '/schemaExtensions/:id',
  permission: { row: definitionPermissions.writeSchemas },
  answers: { 204: null },
  async run(context) {
    const { tx, caller, params, audit } = context
    const { tenantId } = caller
    const definition = await findSchemaExtension(tx, tenantId, params.id ?? '', { lock: true })
    const { id, status } = definition
    await requireOwner(tx, caller, definition.owner)
    if (status !== 'InDevelopment') fail('DefinitionInUse', { status })
    await beforeWrite(context, {
      verb: 'delete',
      kind: 'schemaExtension',
      id,
      before: showSchemaExtension(definition),
      changes: {},
    })
    await tx`delete from schema_extension where tenant_id = ${tenantId} and id = ${id}`
    const changes = await removeValues(tx, tenantId, id)
    audit({
      action: 'delete schemaExtension',
      target: `/schemaExtensions/${id}`,
      before: showSchemaExtension(definition),
    })
    await appendChanges(tx, tenantId, [
      ...changes,
      { entity: 'schemaExtension', entityId: id, kind: 'deleted' },
    ])
    return noContent
  },
})
