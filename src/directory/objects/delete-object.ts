import { noContent } from '../../api/operation.ts'
import { nameOperation } from '../entities/schemas.ts'
import { operation } from '../operation.ts'
import { performDeletion } from './deletion.ts'
import type { Resource } from './kinds/resource.ts'
import { type Locate, locateById } from './locate.ts'
import { objectPermissions } from './object-permissions.ts'
import { checkPrecondition } from './object-store.ts'

export function deleteObject(resource: Resource, locate: Locate = locateById(resource.kind)) {
  return operation({
    name: nameOperation('delete', resource.kind),
    clause: 'DIR-134',
    summary: `Delete one of ${resource.set}`,
    method: 'DELETE',
    path: `/${resource.set}/:id`,
    permission: { row: objectPermissions[resource.kind].delete },
    answers: { 204: null },
    async run(context) {
      const object = await locate(context, { lock: true })
      checkPrecondition(context.request, object)
      await performDeletion(context, object)
      return noContent
    },
  })
}
