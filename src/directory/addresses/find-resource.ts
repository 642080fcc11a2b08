import type { Caller } from '../../auth/caller.ts'
import type { Params } from '../../auth/permission.ts'
import { requirePermissions } from '../../auth/permit.ts'
import type { Query } from '../../db/query.ts'
import { foldPrincipalName } from '../../kernel/fold-principal-name.ts'
import { fail } from '../../kernel/problem.ts'
import { otherUsers } from '../extensions/permissions.ts'
import { findItem, type Item } from '../items/item-store.ts'
import { type DirectoryObject, findObject, findUser } from '../objects/object-store.ts'
import { type Address, type ExtensibleObjectKind, type ItemKind, isObjectKind } from './addresses.ts'

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
  /** Locks the resource until the transaction ends. */
  readonly lock?: boolean
}

/** The resource that the path names; refuses callers who may not reach it. */
export async function findResource(
  tx: Query,
  caller: Caller,
  address: Address,
  sent: Params,
  { writes, lock = false }: FindOptions,
): Promise<Found> {
  const keys = { ...address.given, ...withoutMe(caller, sent) }
  if (isObjectKind(address.kind)) {
    if (address.kind === 'user') await checkReach(tx, caller, keys.user, writes ? 'write' : 'read')
    return { object: await findOwner(tx, caller, address.kind, keys, lock), item: undefined }
  }
  const ownerKind = keys.group === undefined ? 'user' : 'group'
  if (ownerKind === 'user') await checkReach(tx, caller, keys.user, 'items')
  const object = await findOwner(tx, caller, ownerKind, keys, false)
  return { object, item: await findInnermost(tx, caller.tenantId, object.id, keys, lock) }
}

/** The keys of a path without `/users/me`, which is `/me`. */
function withoutMe(caller: Caller, params: Params): Params {
  const { user, ...others } = params
  if (user?.toLowerCase() !== 'me') return params
  return caller.kind === 'application' ? fail('DelegatedOnly') : others
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
 * People reach their own mailbox, tasks and extensions. The extensions of another user take the permission for all
 * users; a caller without it does not learn whether the other user exists.
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
      and folded_principal_name = ${foldPrincipalName(user)}`
  return own !== undefined
}
