import { type Answer, noContent } from '../../api/operation.ts'
import { isPermittedByTable } from '../../auth/permit.ts'
import { appendChanges } from '../../db/change-log.ts'
import { extensionPropertiesFor } from '../extensions/custom-properties.ts'
import { operation } from '../operation.ts'
import { beforeWrite } from '../write-rules/before-write.ts'
import { withoutSecrets } from './create-entity.ts'
import type { EntityContext, EntitySet, Located } from './entity-set.ts'
import { checkPrecondition } from './entity-tag.ts'
import { describeForAudit, describeWrite } from './entity-write.ts'
import { answerEntity } from './get-entity.ts'
import { applyPreference, prefers } from './preferences.ts'
import type { JsonObject, Stored } from './property.ts'
import { readChangedProperties, unknownNames } from './read-properties.ts'
import { bodyOf, entitySchema, withArticle, wordsOf } from './schemas.ts'

export function updateEntity<Row extends Stored>(set: EntitySet<Row>) {
  const { update } = set
  if (!update) throw new Error(`${set.kind} has no rules for updates`)
  return operation({
    name: `update${set.one}`,
    clause: set.clause,
    summary: `Update ${withArticle(wordsOf(set.one))}`,
    method: 'PATCH',
    path: set.instances,
    permission: set.permissions.update,
    right: set.rights.update,
    ...(update.body ? { body: update.body } : bodyOf(set, 'update')),
    answers: { 200: entitySchema(set), 204: null },
    async run(context) {
      const { tx, caller, request, audit } = context
      const body = context.body as JsonObject
      // Definitions are locked before the entity, in the order in which the deletion of a definition locks them.
      const custom = await extensionPropertiesFor(tx, caller.tenantId, set.kind, unknownNames(set, body))
      const located = await set.find(context, 'write')
      const { row, path, owner } = located
      const { kind, properties: before } = row
      const changes =
        (await update.read?.(context, located, body)) ?? readChangedProperties(set, body, custom, row)
      update.check?.(caller, changes)
      await beforeWrite(context, describeWrite('update', row, changes, owner))
      checkPrecondition(request, row)
      const updated = await update.store(context, located, withoutSecrets(set, changes))
      const after = { ...located, row: updated }
      await update.also?.(context, after, changes)
      audit({
        action: `update ${kind}`,
        target: path,
        ...describeForAudit(set, before, updated.properties, changes),
      })
      await appendChanges(tx, caller.tenantId, [set.describeChange('updated', updated)])
      return answerUpdated(context, set, after, update.answersWithEntity)
    },
  })
}

/**
 * The answer to an update: with the entity or without it, as the caller prefers, else as usual for the set. Without it for a
 * caller who may write the entity and not read it.
 */
async function answerUpdated<Row extends Stored>(
  context: EntityContext,
  set: EntitySet<Row>,
  located: Located<Row>,
  withEntity: boolean,
): Promise<Answer> {
  if (prefers(context.request, 'minimal')) return applyPreference(noContent, 'return=minimal')
  const wants = prefers(context.request, 'representation')
  const isShown = (wants || withEntity) && isPermittedByTable(context.caller, set.permissions.read)
  if (!isShown) return noContent
  const answer = await answerEntity(context, set, located)
  return wants ? applyPreference(answer, 'return=representation') : answer
}
