import type { AuditEntry } from '../../api/operation.ts'
import type { Caller } from '../../auth/caller.ts'
import { requirePermissions } from '../../auth/permit.ts'
import type { Change } from '../../db/change-log.ts'
import type { Query } from '../../db/query.ts'
import { fail } from '../../kernel/problem.ts'
import { describeWrite, type WriteContext } from '../entities/entity-write.ts'
import type { ObjectKind } from '../objects/kinds/resource.ts'
import type { DirectoryObject } from '../objects/object-store.ts'
import { addMembersPermissions, type MemberType, requireForRoleAssignableGroup } from '../permissions.ts'
import { beforeWrite } from '../write-rules/before-write.ts'
import { describeMembership } from './describe-membership.ts'
import { type LockStrength, lockReferences } from './lock-references.ts'
import type { ObjectReference } from './object-reference.ts'

export const addMembersRows = Object.values(addMembersPermissions)

export interface GroupAndMembers {
  readonly group: DirectoryObject
  readonly members: readonly DirectoryObject[]
}

/**
 * The group and the objects to add to it, locked until the end of the transaction, once the caller is known to be
 * allowed to add each of them. Where the URL says the kind, that comes before any look at what exists.
 */
export async function lockForAdding(
  tx: Query,
  caller: Caller,
  groupId: string,
  references: readonly ObjectReference[],
  strength: LockStrength,
): Promise<GroupAndMembers> {
  for (const { kind } of references) if (kind) requireToAdd(caller, kind)
  const { container: group, objects } = await lockReferences(
    tx,
    caller.tenantId,
    groupId,
    references,
    strength,
  )
  for (const object of objects) if (object) requireToAdd(caller, object.kind)
  if (group?.kind !== 'group') return fail('ObjectNotFound', { id: groupId })
  if (references.length > 0 && group.properties.isAssignableToRole === true)
    requireForRoleAssignableGroup(caller)
  return {
    group,
    members: objects.map((object, at) => object ?? fail('ObjectNotFound', { id: references[at]?.key ?? '' })),
  }
}

function requireToAdd(caller: Caller, kind: ObjectKind): void {
  if (isMemberType(kind)) requirePermissions(caller, addMembersPermissions[kind])
}

function isMemberType(kind: ObjectKind): kind is MemberType {
  return Object.hasOwn(addMembersPermissions, kind)
}

export interface Adding {
  /** Skips objects that are members already instead of failing. */
  readonly lenient: boolean
}

/** Adds all members or, by failing, none. Returns the changes for the log. */
export async function addMembers(
  context: WriteContext,
  { group, members }: GroupAndMembers,
  { lenient }: Adding,
): Promise<Change[]> {
  const { tx, caller, audit } = context
  for (const member of members) refuseImpossible(group, member)
  const ids = members.map(({ id }) => id)
  if (new Set(ids).size < ids.length) fail('ReferenceGivenTwice', { property: 'members' })
  const given: AuditEntry[] = []
  const checking = { ...context, audit: (entry: AuditEntry) => void given.push(entry) }
  if (ids.length > 0) await beforeWrite(checking, describeWrite('add', group, { members: ids }))
  const added = await tx<{ id: string }[]>`
    insert into member_edge (tenant_id, container_id, member_id)
    select ${caller.tenantId}, ${group.id}, id from unnest(${ids}::uuid[]) as id order by id
    on conflict on constraint member_edge_exists_already do nothing
    returning member_id as id`
  if (added.length < ids.length && !lenient) fail('ReferenceExistsAlready', { property: 'members' })
  // Objects that were members already are checked like the others, and got nothing.
  if (added.length > 0)
    for (const entry of given)
      audit({ ...entry, after: { ...(entry.after as object), members: added.map(({ id }) => id) } })
  return added.map(({ id }) => describeMembership('memberAdded', group, id))
}

/** Refuses a group in itself, and groups in a group that can hold roles: others could fill these unseen. */
function refuseImpossible(group: DirectoryObject, member: DirectoryObject): void {
  const isImpossible =
    !isMemberType(member.kind) ||
    member.id === group.id ||
    (member.kind === 'group' && group.properties.isAssignableToRole === true)
  if (isImpossible) fail('ImpossibleReference', { property: 'members' })
}

/** Ids of the members among changes, for the audit. */
export function addedIds(changes: readonly Change[]): string[] {
  return changes.map(({ data }) => (data as { id: string }).id)
}
