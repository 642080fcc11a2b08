import { noContent } from '../../../api/operation.ts'
import { appendChanges } from '../../../db/change-log.ts'
import { findObject } from '../../objects/object-store.ts'
import { operation } from '../../operation.ts'
import { beforeWrite } from '../../write-rules/before-write.ts'
import { findExtensionProperty, showExtensionProperty } from './extension-property.ts'
import { definitionPermissions } from './permissions.ts'
import { removeValues } from './remove-values.ts'

export const deleteExtensionProperty = operation({
  name: 'deleteExtensionProperty',
  clause: 'DIR-127',
  summary: 'Delete the definition of a directory extension, with all its values',
  method: 'DELETE',
  path: '/applications/:id/extensionProperties/:extensionProperty',
  permission: { row: definitionPermissions.writeProperties },
  answers: { 204: null },
  async run(context) {
    const { tx, caller, params, audit } = context
    const { tenantId } = caller
    const application = await findObject(tx, tenantId, 'application', params.id ?? '', { lock: true })
    const key = params.extensionProperty ?? ''
    const definition = await findExtensionProperty(tx, tenantId, application.id, key)
    const { id, name } = definition
    await beforeWrite(context, {
      verb: 'delete',
      kind: 'extensionProperty',
      id,
      owner: application,
      before: showExtensionProperty(definition),
      changes: {},
    })
    await tx`delete from extension_property where tenant_id = ${tenantId} and id = ${id}`
    const changes = await removeValues(tx, tenantId, name)
    audit({
      action: 'delete extensionProperty',
      target: `/applications/${application.id}/extensionProperties/${id}`,
      before: showExtensionProperty(definition),
    })
    await appendChanges(tx, tenantId, [
      ...changes,
      { entity: 'extensionProperty', entityId: id, kind: 'deleted', data: { name } },
    ])
    return noContent
  },
})
