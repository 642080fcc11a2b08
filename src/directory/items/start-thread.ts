import type { Caller } from '../../auth/caller.ts'
import type { Query } from '../../db/query.ts'
import { fail } from '../../kernel/problem.ts'
import type { WriteContext } from '../entities/entity-write.ts'
import type { Json, JsonObject } from '../entities/property.ts'
import { isJsonObject } from '../entities/storable.ts'
import type { DirectoryObject } from '../objects/object-store.ts'
import { itemResource } from './item-resources.ts'
import type { Item } from './item-store.ts'
import { writeNewItem } from './write-item.ts'

const maxPosts = 20

/** Makes a thread with its posts; in a conversation of its own where none is given. Returns the thread first. */
export async function startThread(
  context: WriteContext,
  owner: DirectoryObject,
  conversation: Item | undefined,
  { posts, ...body }: JsonObject,
): Promise<readonly [thread: Item, ...others: Item[]]> {
  const bodies = readBodies('thread', 'posts', posts)
  const topic = body.topic ?? conversation?.properties.topic ?? null
  const own =
    conversation ?? (await writeNewItem(context, 'conversation', { owner, parent: undefined }, { topic }))
  const thread = await writeNewItem(context, 'thread', { owner, parent: own }, { ...body, topic })
  const written: Item[] = []
  for (const post of bodies) written.push(await writePost(context, owner, thread, post))
  return [thread, ...(conversation ? [] : [own]), ...written]
}

/** A post is from the person who calls, unless it says otherwise. */
export async function writePost(
  context: WriteContext,
  owner: DirectoryObject,
  thread: Item,
  body: JsonObject,
): Promise<Item> {
  const from = body.from ?? (await describeCaller(context.tx, context.caller))
  return writeNewItem(context, 'post', { owner, parent: thread }, { sender: from, ...body, from })
}

/** At least one, and each an object. */
export function readBodies(
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
