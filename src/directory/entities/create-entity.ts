import { type Answer, type AuditEntry, created, noContent } from '../../api/operation.ts'
import { appendChanges } from '../../db/change-log.ts'
import { extensionPropertiesFor } from '../extensions/custom-properties.ts'
import { operation } from '../operation.ts'
import { ownCreated } from '../rights/own-created.ts'
import { beforeWrite } from '../write-rules/before-write.ts'
import type { Collection, EntityContext, EntitySet, Located, ShownSet } from './entity-set.ts'
import { tagHeader } from './entity-tag.ts'
import { describeForAudit } from './entity-write.ts'
import { showWhole } from './get-entity.ts'
import { applyPreference, prefers } from './preferences.ts'
import type { Described, JsonObject, Stored } from './property.ts'
import { readNewProperties, unknownNames } from './read-properties.ts'
import { bodyOf, entitySchema, withArticle, wordsOf } from './schemas.ts'

export function createEntity<Row extends Stored>(set: EntitySet<Row>) {
  return operation({
    name: set.creation?.name ?? `create${set.one}`,
    clause: set.clause,
    summary: `Create ${withArticle(wordsOf(set.one))}`,
    method: 'POST',
    path: set.collections,
    permission: set.permissions.create,
    right: set.rights.create,
    ...(set.creation?.body ? { body: set.creation.body } : bodyOf(set, 'creation', set.creation?.takes)),
    answers: { 201: entitySchema(set), 204: null },
    async run(context) {
      const { tx, caller } = context
      const body = context.body as JsonObject
      const collection = await set.openToCreate(context)
      const located = await storeNewEntity(context, set, collection, body)
      const owned = await ownCreated(tx, caller, located.row)
      const related = (await set.creation?.relate?.(context, located, body)) ?? []
      const changes = [set.describeChange('created', located.row), ...owned, ...related]
      await appendChanges(tx, caller.tenantId, changes)
      return answerCreated(context, set, located, body)
    },
  })
}

/** Answers with the new entity, and with the extensions that came along with it. */
export async function answerCreated<Row extends Stored>(
  context: EntityContext,
  set: ShownSet<Row>,
  located: Located<Row>,
  body: JsonObject = {},
): Promise<Answer> {
  const location = `${context.request.baseUrl}${located.path}`
  const headers = { ...tagHeader(located.row), location }
  if (prefers(context.request, 'minimal'))
    return applyPreference(
      { ...noContent, headers: { ...headers, 'odata-entityid': location } },
      'return=minimal',
    )
  const expansion = Object.hasOwn(body, 'extensions') ? { name: undefined } : undefined
  const answer = created(await showWhole(context, set, located, { expansion }), headers)
  return prefers(context.request, 'representation')
    ? applyPreference(answer, 'return=representation')
    : answer
}

/** Checks, stores and audits an entity. The caller logs the change, once for all that the request writes. */
export async function storeNewEntity<Row extends Stored>(
  context: EntityContext,
  set: Described & Pick<EntitySet<Row>, 'creation'>,
  collection: Collection<Row>,
  body: JsonObject,
): Promise<Located<Row>> {
  const { creation = {} } = set
  const sent = (await creation.read?.(context, body, collection)) ?? (await readNew(context, set, body))
  creation.check?.(context.caller, sent)
  const kept = withoutSecrets(set, sent)
  const properties = (await creation.complete?.(context, kept)) ?? kept
  const entries: AuditEntry[] = []
  const checking = { ...context, audit: (entry: AuditEntry) => void entries.push(entry) }
  await beforeWrite(checking, {
    verb: 'create',
    kind: set.kind,
    id: undefined,
    ...(collection.owner && { owner: collection.owner }),
    before: {},
    changes: sent,
  })
  const located = await collection.insert(properties)
  await creation.also?.(context, located, sent, body)
  const { extensions } = body
  context.audit({
    action: `create ${set.kind}`,
    target: located.path,
    ...describeForAudit(
      set,
      undefined,
      extensions === undefined ? properties : { ...properties, extensions },
      sent,
    ),
  })
  for (const entry of entries) context.audit({ ...entry, target: located.path })
  return located
}

export async function readNew(
  { tx, caller }: EntityContext,
  described: Described,
  body: JsonObject,
): Promise<JsonObject> {
  const names = unknownNames(described, body)
  const custom = await extensionPropertiesFor(tx, caller.tenantId, described.kind, names)
  return readNewProperties(described, body, custom)
}

/** Secrets are stored by rules of their own, never with the properties. */
export function withoutSecrets({ properties }: Described, sent: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(sent).filter(([name]) => !properties[name]?.secret))
}
