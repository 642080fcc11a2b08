import { noContent } from '../../api/operation.ts'
import { appendChanges } from '../../db/change-log.ts'
import { operation } from '../operation.ts'
import { beforeWrite } from '../write-rules/before-write.ts'
import type { EntitySet } from './entity-set.ts'
import { checkPrecondition } from './entity-tag.ts'
import { describeForAudit, describeWrite } from './entity-write.ts'
import type { Stored } from './property.ts'
import { withArticle, wordsOf } from './schemas.ts'

export function deleteEntity<Row extends Stored>(set: EntitySet<Row>) {
  return operation({
    name: `delete${set.one}`,
    clause: set.clause,
    summary: `Delete ${withArticle(wordsOf(set.one))} with all that belongs to it`,
    method: 'DELETE',
    path: set.instances,
    permission: set.permissions.delete,
    right: set.rights.delete,
    answers: { 204: null },
    async run(context) {
      const { tx, caller, request, audit } = context
      const located = await set.find(context, 'write')
      const { row, path: target, owner } = located
      const { kind, properties: before } = row
      checkPrecondition(request, row)
      await beforeWrite(context, describeWrite('delete', row, {}, owner))
      const changes = await set.remove(context, located)
      audit({ action: `delete ${kind}`, target, ...describeForAudit(set, before, undefined) })
      await appendChanges(tx, caller.tenantId, changes)
      return noContent
    },
  })
}
