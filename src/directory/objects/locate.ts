import type { Caller } from '../../auth/caller.ts'
import type { Params } from '../../auth/permission.ts'
import type { Query } from '../../db/query.ts'
import type { ObjectKind } from './kinds/resource.ts'
import { type DirectoryObject, findObject, findUser } from './object-store.ts'

/** Finds the object that a path names. */
export type Locate = (
  at: { readonly tx: Query; readonly caller: Caller; readonly params: Params },
  options?: { readonly lock?: true },
) => Promise<DirectoryObject>

export const locateById =
  (kind: ObjectKind): Locate =>
  ({ tx, caller, params }, options) =>
    findObject(tx, caller.tenantId, kind, params.id ?? '', options)

export const locateUser: Locate = ({ tx, caller, params }, options) =>
  findUser(tx, caller.tenantId, params.id ?? '', options)

/** The signed-in user. */
export const locateMe: Locate = ({ tx, caller }, options) =>
  findObject(tx, caller.tenantId, 'user', caller.objectId, options)
