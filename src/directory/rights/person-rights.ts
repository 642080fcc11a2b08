import type { Caller } from '../../auth/caller.ts'
import { type Bond, findRight, holdsAnyRole, type RightName } from '../../auth/effective-rights.ts'
import type { Params } from '../../auth/permission.ts'
import type { Query } from '../../db/query.ts'
import { foldPrincipalName } from '../../kernel/fold-principal-name.ts'
import { fail } from '../../kernel/problem.ts'
import { isUuid } from '../../kernel/uuid.ts'
import { createSqlGraph } from '../membership/sql-graph.ts'

/** The object that a write is about, as far as a right depends on it. */
export interface RightTarget {
  /** An id, a userPrincipalName or `appId=…`; undefined: the signed-in person, or an object that is being created. */
  readonly key: string | undefined
  /** Application whose service principal or schema the body describes; undefined before the body was read. */
  readonly appId?: string
  /** True for a unified group that is being created. */
  readonly unified?: boolean
}

/** The rights that every person has by the settings of the installation: creating groups, registering applications. */
export type RightsOfEveryone = ReadonlySet<RightName>

export function readEveryoneMay(creates: readonly string[]): RightsOfEveryone {
  return new Set([
    ...(creates.includes('groups') ? ['createGroup' as const] : []),
    ...(creates.includes('applications') ? ['createApplication' as const] : []),
  ])
}

/** True when the token has no person, or when a role of the person or their bond with the target gives the right. */
export async function hasRight(
  sql: Query,
  everyone: RightsOfEveryone,
  caller: Caller,
  name: RightName,
  target: RightTarget,
): Promise<boolean> {
  if (caller.kind === 'application') return true
  const right = findRight(name)
  if (holdsAnyRole(caller, right.roles)) return true
  for (const bond of right.bonds)
    if (bond === 'everyone' ? everyone.has(name) : await hasBond(sql, caller, bond, target)) return true
  return holdsAnyRole(caller, right.unifiedRoles ?? []) && (await isUnified(sql, caller, target))
}

/** Refuses with the deed that the person may not do; the words are the same whether the target exists or not. */
export async function requireRight(
  sql: Query,
  everyone: RightsOfEveryone,
  caller: Caller,
  name: RightName,
  target: RightTarget,
): Promise<void> {
  if (!(await hasRight(sql, everyone, caller, name, target))) refuseDeed(name)
}

/** Makes the check that admits a request: it refuses unless one of the rights is the person's. */
export function createRightsCheck(sql: Query, everyone: RightsOfEveryone) {
  return async (caller: Caller, names: readonly RightName[], params: Params): Promise<void> => {
    const target = readTarget(params)
    for (const name of names) if (await hasRight(sql, everyone, caller, name, target)) return
    refuseDeed(names[0] ?? 'manageRoles')
  }
}

export function refuseDeed(name: RightName): never {
  if (name === 'writeMailbox') return fail('MailboxAccessDenied')
  return fail('RightsRequired', {
    reason: `The signed-in person may not ${findRight(name).deed}: no directory role of theirs includes it.`,
  })
}

/** The object that a path names. Paths without a key are about the signed-in person. */
function readTarget(params: Params): RightTarget {
  const key = params.id ?? params.user ?? params.group ?? params.device
  return { key: key?.toLowerCase() === 'me' ? undefined : key }
}

async function hasBond(
  sql: Query,
  caller: Caller,
  bond: Exclude<Bond, 'everyone'>,
  { key, appId }: RightTarget,
): Promise<boolean> {
  switch (bond) {
    case 'self':
      return key === undefined || (await isCaller(sql, caller, key))
    case 'owner':
      return key !== undefined && (await ownsObject(sql, caller, key))
    case 'member':
      return (
        key !== undefined &&
        isUuid(key) &&
        (await createSqlGraph(sql).groupsAmong(caller.tenantId, caller.objectId, [key.toLowerCase()]))
          .length > 0
      )
    case 'applicationOwner':
      return appId === undefined || (await ownsApplication(sql, caller, appId))
  }
}

export async function isCaller(sql: Query, caller: Caller, user: string): Promise<boolean> {
  if (user.toLowerCase() === caller.objectId.toLowerCase()) return true
  if (!user.includes('@') || user.includes('\0')) return false
  const [own] = await sql`
    select 1 from directory_object
    where tenant_id = ${caller.tenantId} and id = ${caller.objectId} and kind = 'user'
      and folded_principal_name = ${foldPrincipalName(user)}`
  return own !== undefined
}

export async function ownsObject(sql: Query, { tenantId, objectId }: Caller, key: string): Promise<boolean> {
  const appId = /^appid=(.+)$/i.exec(key)?.[1]?.toLowerCase()
  if (appId === undefined && !isUuid(key)) return false
  const [edge] = await sql`
    select 1 from owner_edge edge
    join directory_object object on object.tenant_id = edge.tenant_id and object.id = edge.object_id
    where edge.tenant_id = ${tenantId} and edge.owner_id = ${objectId}
      and ${appId === undefined ? sql`object.id = ${key}::uuid` : sql`object.app_id = ${appId}`}`
  return edge !== undefined
}

async function ownsApplication(sql: Query, { tenantId, objectId }: Caller, appId: string): Promise<boolean> {
  const [edge] = await sql`
    select 1 from owner_edge edge
    join directory_object application
      on application.tenant_id = edge.tenant_id and application.id = edge.object_id
    where edge.tenant_id = ${tenantId} and edge.owner_id = ${objectId} and application.deleted_at is null
      and application.kind = 'application' and application.app_id = ${appId.toLowerCase()}`
  return edge !== undefined
}

async function isUnified(sql: Query, { tenantId }: Caller, { key, unified }: RightTarget): Promise<boolean> {
  // A group that is being created: the rule about the write knows its properties, admission does not yet.
  if (key === undefined) return unified ?? true
  if (!isUuid(key)) return false
  const [group] = await sql`
    select 1 from directory_object where tenant_id = ${tenantId} and id = ${key} and kind = 'group' and unified`
  return group !== undefined
}
