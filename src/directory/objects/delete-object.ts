import { noContent } from '../../api/operation.ts'
import { appendChanges } from '../../db/change-log.ts'
import { objectPermissions } from '../object-permissions.ts'
import { checkPrecondition, describeChange, purgeObject, softDeleteObject } from '../object-store.ts'
import { operation } from '../operation.ts'
import type { Resource } from '../resources/resource.ts'
import { type Locate, locateById } from './locate.ts'
import { nameOperation } from './schemas.ts'

interface Form {
  readonly path: string | readonly string[]
  readonly locate: Locate
  readonly name: string
}

/** What can be restored goes to deletedItems; the rest is gone. */
export function deleteObject(resource: Resource, form: Partial<Form> = {}) {
  const locate = form.locate ?? locateById(resource.kind)
  return operation({
    name: form.name ?? nameOperation('delete', resource.kind),
    clause: 'DIR-134',
    summary: `Delete one of ${resource.set}`,
    method: 'DELETE',
    path: form.path ?? `/${resource.set}/:id`,
    permission: { row: objectPermissions[resource.kind].delete },
    answers: { 204: null },
    async run(context) {
      const { tx, caller, request, audit } = context
      const object = await locate(context, { lock: true })
      checkPrecondition(request, object)
      if (resource.restorable) await softDeleteObject(tx, caller.tenantId, object.id)
      else await purgeObject(tx, caller.tenantId, object.id)
      audit({
        action: nameOperation('delete', resource.kind),
        target: `/${resource.set}/${object.id}`,
        before: object.properties,
      })
      const change = resource.restorable ? 'deleted' : 'purged'
      await appendChanges(tx, caller.tenantId, [describeChange(change, object)])
      return noContent
    },
  })
}
