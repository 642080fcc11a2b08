import type { Caller } from '../auth/caller.ts'
import type { Params } from '../auth/permission.ts'
import { requirePermissions } from '../auth/permit.ts'
import type { Query } from '../db/query.ts'
import { fail } from '../kernel/problem.ts'
import type { Address, ExtensibleObjectKind, ItemKind } from './addresses.ts'
import { otherUsers } from './extensions/permissions.ts'
import { findItem, type Item } from './items/item-store.ts'
import { type DirectoryObject, findObject, findUser } from './object-store.ts'

/** In the order in which keys follow each other in a path. */
const itemKeys: readonly (readonly [key: string, kind: ItemKind])[] = [
  ['mailFolder', 'mailFolder'],
  ['message', 'message'],
  ['calendarGroup', 'calendarGroup'],
  ['calendar', 'calendar'],
  ['event', 'event'],
  ['contactFolder', 'contactFolder'],
  ['contact', 'contact'],
  ['list', 'todoTaskList'],
  ['task', 'todoTask'],
  ['conversation', 'conversation'],
  ['thread', 'thread'],
  ['post', 'post'],
]

export interface Found {
  /** The directory object itself, or the user or group whose item it is. */
  readonly object: DirectoryObject
  /** The innermost item that the path names. */
  readonly item: Item | undefined
}

interface FindOptions {
  readonly writes: boolean
  /** Keeps others from changing what the path names until the transaction ends. */
  readonly lock?: boolean
}

/** What the path names, if it is within the caller's reach. */
export async function findResource(
  tx: Query,
  caller: Caller,
  address: Address,
  sent: Params,
  { writes, lock = false }: FindOptions,
): Promise<Found> {
  const isObject = isObjectKind(address.kind)
  const { user: named, ...rest } = sent
  const isMe = named?.toLowerCase() === 'me'
  if (isMe && caller.kind === 'application') fail('DelegatedOnly')
  const params: Params = named === undefined || isMe ? rest : { ...rest, user: named }
  const kind = isObject ? address.kind : params.group === undefined ? 'user' : 'group'
  if (kind === 'user')
    await checkReach(tx, caller, params.user, isObject ? (writes ? 'write' : 'read') : 'items')
  const object = await findOwner(tx, caller, kind, params, lock && isObject)
  if (isObject) return { object, item: undefined }
  const keys = { ...address.given, ...params }
  return { object, item: await findInnermost(tx, caller.tenantId, object.id, keys, lock) }
}

export function isObjectKind(kind: Address['kind']): kind is ExtensibleObjectKind {
  return kind === 'user' || kind === 'group' || kind === 'device' || kind === 'organization'
}

function findOwner(
  tx: Query,
  caller: Caller,
  kind: ExtensibleObjectKind,
  params: Params,
  lock: boolean,
): Promise<DirectoryObject> {
  const options = lock ? { lock } : {}
  if (kind === 'user') return findUser(tx, caller.tenantId, params.user ?? caller.objectId, options)
  return findObject(tx, caller.tenantId, kind, params[kind] ?? '', options)
}

async function findInnermost(
  tx: Query,
  tenantId: string,
  ownerId: string,
  params: Params,
  lock: boolean,
): Promise<Item | undefined> {
  const steps = itemKeys.flatMap(([key, kind]) => {
    const value = params[key]
    if (value === undefined) return []
    const isFolder = kind === 'mailFolder' || kind === 'contactFolder'
    // `http/normalize-url.ts` folds the levels into one segment.
    const inner = isFolder ? (params.childFolders?.split('/') ?? []) : []
    return [value, ...inner].map((id) => ({ kind, id }))
  })
  let parent: Item | undefined
  for (const [at, { kind, id }] of steps.entries())
    parent = await findItem(tx, tenantId, ownerId, kind, id, {
      parent,
      lock: lock && at === steps.length - 1,
    })
  return parent
}

/**
 * A person reaches their own mailbox and tasks, and what hangs on their own user; to reach another's user needs the
 * permission for all users. Whoever may not learns nothing about whether the other exists.
 */
async function checkReach(
  tx: Query,
  caller: Caller,
  user: string | undefined,
  wants: 'read' | 'write' | 'items',
): Promise<void> {
  if (user === undefined || caller.kind === 'application') return
  if (await isCaller(tx, caller, user)) return
  if (wants === 'items') fail('MailboxAccessDenied')
  requirePermissions(caller, otherUsers[wants])
}

async function isCaller(tx: Query, caller: Caller, user: string): Promise<boolean> {
  if (user.toLowerCase() === caller.objectId.toLowerCase()) return true
  if (!user.includes('@') || user.includes('\0')) return false
  const [own] = await tx`
    select 1 from directory_object
    where tenant_id = ${caller.tenantId} and id = ${caller.objectId} and kind = 'user'
      and lower(user_principal_name) = lower(${user})`
  return own !== undefined
}
