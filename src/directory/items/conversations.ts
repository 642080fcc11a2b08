import { Type } from 'typebox'
import type { Caller } from '../../auth/caller.ts'
import { appendChanges } from '../../db/change-log.ts'
import type { Query } from '../../db/query.ts'
import { fail } from '../../kernel/problem.ts'
import { type Address, addresses } from '../addresses/addresses.ts'
import { findResource } from '../addresses/find-resource.ts'
import { answerCreated, storeNewEntity } from '../entities/create-entity.ts'
import type { EntityContext, Located } from '../entities/entity-set.ts'
import type { Json, JsonObject } from '../entities/property.ts'
import { bodyOf, entitySchema } from '../entities/schemas.ts'
import { isJsonObject } from '../entities/storable.ts'
import type { DirectoryObject } from '../objects/object-store.ts'
import { operation } from '../operation.ts'
import { deleteOpenExtensionPermissions } from '../permissions.ts'
import { itemResource } from './item-resources.ts'
import { describeItemChange, newItems, openItems } from './item-set.ts'
import { findItem, type Item, updateItem } from './item-store.ts'

// Conversations, threads and posts are made together: a thread is never without a post, nor without a conversation.

const maxPosts = 20
const permission = { row: deleteOpenExtensionPermissions['group post'] }

const { describedBody: newPost } = bodyOf(itemResource('post'), 'creation', newItems('post').creation.takes)
const posts = Type.Array(newPost, { minItems: 1, maxItems: maxPosts })
const threadBody = bodyOf(itemResource('thread'), 'creation', { posts })
const threads = Type.Array(threadBody.describedBody, { minItems: 1, maxItems: maxPosts })
const conversationBody = bodyOf(itemResource('conversation'), 'creation', { threads })
const replyBody = {
  body: threadBody.body,
  describedBody: Type.Object({ post: newPost }, { title: 'reply', additionalProperties: false }),
}

export const createConversation = operation({
  name: 'createConversation',
  clause: 'DIR-135',
  summary: 'Start a conversation in a group by its first threads',
  method: 'POST',
  path: '/groups/:group/conversations',
  permission,
  right: 'writeGroupItems',
  ...conversationBody,
  answers: { 201: entitySchema(itemResource('conversation')) },
  async run(context) {
    const { tx, caller, params, body } = context
    const { threads, ...own } = body
    const bodies = readBodies('conversation', 'threads', threads)
    const { object } = await findResource(tx, caller, addresses.Conversation, params, { writes: true })
    const conversation = await writeItem(context, 'conversation', object, undefined, own)
    const written = [conversation.row]
    for (const thread of bodies) {
      const { items } = await startThread(context, object, conversation.row, thread)
      written.push(...items)
    }
    await logCreated(context, written)
    return answerCreated(context, newItems('conversation'), conversation)
  },
})

export const createThread = operation({
  name: 'createThread',
  clause: 'DIR-135',
  summary: 'Start a thread in a group by its first posts',
  method: 'POST',
  path: ['/groups/:group/threads', '/groups/:group/conversations/:conversation/threads'],
  permission,
  right: 'writeGroupItems',
  ...threadBody,
  answers: { 201: entitySchema(itemResource('thread')) },
  async run(context) {
    const { tx, caller, params, body } = context
    const { object, item } = await findResource(tx, caller, addresses.Thread, params, { writes: true })
    const { thread, items } = await startThread(context, object, item, body)
    await logCreated(context, items)
    return answerCreated(context, newItems('thread'), thread)
  },
})

/** As in the original, the answer to a reply is 202 without a body; the posts of the thread show it. */
const replyTo = (noun: 'Thread' | 'Post', address: Address) =>
  operation({
    name: `replyTo${noun}`,
    clause: 'DIR-135',
    summary: 'Add a post to a thread, with the open extensions it brings along',
    method: 'POST',
    path: address.paths.map((path) => `${path}/reply`),
    permission,
    right: 'writeGroupItems',
    ...replyBody,
    answers: { 202: null },
    async run(context) {
      const { tx, caller, params, body } = context
      const { post: sent, ...others } = body
      const [unknown] = Object.keys(others)
      if (unknown !== undefined) fail('InvalidProperty', { property: unknown.slice(0, 200) })
      if (!isJsonObject(sent)) return fail('PropertyRequired', { property: 'post', resource: 'Reply' })
      const { object, item } = await findResource(tx, caller, address, params, { writes: true })
      const threadId = item?.kind === 'thread' ? item.id : (item?.parentId ?? '')
      const thread = await findItem(tx, caller.tenantId, object.id, 'thread', threadId, { lock: true })
      if (thread.properties.isLocked === true) fail('ThreadLocked')
      const { row: post } = await writePost(context, object, thread, sent)
      const touched = await updateItem(tx, caller.tenantId, thread, {})
      await appendChanges(tx, caller.tenantId, [
        describeItemChange('created', post),
        describeItemChange('updated', touched),
      ])
      return { status: 202 }
    },
  })

export const reply = [replyTo('Thread', addresses.Thread), replyTo('Post', addresses.Post)]

function writeItem(
  context: EntityContext,
  kind: 'conversation' | 'thread' | 'post',
  object: DirectoryObject,
  parent: Item | undefined,
  body: JsonObject,
): Promise<Located<Item>> {
  const collection = openItems(context, kind, { object, item: parent })
  return storeNewEntity(context, newItems(kind), collection, body)
}

/** Makes a thread with its posts, in a conversation of its own where none is given. */
async function startThread(
  context: EntityContext,
  owner: DirectoryObject,
  conversation: Item | undefined,
  { posts, ...body }: JsonObject,
): Promise<{ thread: Located<Item>; items: readonly Item[] }> {
  const bodies = readBodies('thread', 'posts', posts)
  const topic = body.topic ?? conversation?.properties.topic ?? null
  const own = conversation ?? (await writeItem(context, 'conversation', owner, undefined, { topic })).row
  const thread = await writeItem(context, 'thread', owner, own, { ...body, topic })
  const items = conversation ? [thread.row] : [own, thread.row]
  for (const post of bodies) items.push((await writePost(context, owner, thread.row, post)).row)
  return { thread, items }
}

/** A post is from the person who calls, unless its body names another sender. */
async function writePost(
  context: EntityContext,
  owner: DirectoryObject,
  thread: Item,
  body: JsonObject,
): Promise<Located<Item>> {
  const from = body.from ?? (await describeCaller(context.tx, context.caller))
  return writeItem(context, 'post', owner, thread, { sender: from, ...body, from })
}

/** The threads or posts in a body: at least one, and each an object. */
function readBodies(
  kind: 'thread' | 'conversation',
  property: string,
  value: Json | undefined,
): readonly JsonObject[] {
  const { noun: resource } = itemResource(kind)
  if (value === undefined || value === null) fail('PropertyRequired', { property, resource })
  if (!Array.isArray(value) || value.length < 1 || value.length > maxPosts || !value.every(isJsonObject))
    return fail('InvalidPropertyValue', { property, resource })
  return value
}

async function describeCaller(tx: Query, { tenantId, objectId }: Caller): Promise<JsonObject> {
  const [object] = await tx<{ name: string | null; address: string | null }[]>`
    select display_name as name, coalesce(properties ->> 'mail', user_principal_name) as address
    from directory_object where tenant_id = ${tenantId} and id = ${objectId}`
  return { emailAddress: { name: object?.name ?? null, address: object?.address ?? null } }
}

async function logCreated({ tx, caller }: EntityContext, items: readonly Item[]): Promise<void> {
  const changes = items.map((item) => describeItemChange('created', item))
  await appendChanges(tx, caller.tenantId, changes)
}
