import { Type } from 'typebox'
import { requirePermissions } from '../../auth/permit.ts'
import type { Change } from '../../db/change-log.ts'
import { fail } from '../../kernel/problem.ts'
import type { EntityContext, Located } from '../entities/entity-set.ts'
import { describeWrite } from '../entities/entity-write.ts'
import type { Json, JsonObject } from '../entities/property.ts'
import type { DirectoryObject } from '../objects/object-store.ts'
import { requireForRoleAssignableGroup } from '../permissions.ts'
import { beforeWrite } from '../write-rules/before-write.ts'
import { addedIds, addMembers, lockForAdding } from './add-members.ts'
import { describeMembership } from './describe-membership.ts'
import { lockReferences } from './lock-references.ts'
import { type ObjectReference, readReference } from './object-reference.ts'
import { ownerKinds, writeGroupOwners } from './relations.ts'

export const bindMembers = 'members@odata.bind'
export const bindOwners = 'owners@odata.bind'
const mostReferences = 20

/** Objects to relate a group to, by their URLs. */
export const references = Type.Optional(
  Type.Array(Type.String({ format: 'uri' }), { maxItems: mostReferences }),
)

/** The references of a body to bind: at most 20 URLs. */
export function readBound(bound: Json | undefined, property: string): ObjectReference[] {
  if (bound === undefined) return []
  if (!Array.isArray(bound)) return fail('InvalidReference', { property }, { target: property })
  if (bound.length > mostReferences)
    fail('TooManyReferences', { property, limit: mostReferences }, { target: property })
  return bound.map((url) => readReference(url, property))
}

/**
 * Gives a group that was just created the owners and members that its body names, under the rules for adding them to a
 * group that exists. Returns the changes for the log.
 */
export async function bindReferences(
  creation: EntityContext,
  { row: group, path }: Located<DirectoryObject>,
  body: JsonObject,
): Promise<Change[]> {
  // Other transactions do not see the group yet, so they neither give nor revoke rights over it.
  const context = { ...creation, askAgain: () => {} }
  const ownerReferences = readBound(body[bindOwners], bindOwners)
  const references = readBound(body[bindMembers], bindMembers)
  // All rows before the lock of rights, which each of the two takes behind its own.
  if (ownerReferences.length > 0 && references.length > 0)
    await lockReferences(
      context.tx,
      context.caller.tenantId,
      group.id,
      [...ownerReferences, ...references],
      'share',
    )
  const owners = await addOwners(context, group, ownerReferences)
  if (references.length === 0) return owners
  const found = await lockForAdding(context.tx, context.caller, group.id, references, 'share')
  const members = await addMembers(context, found, { lenient: false })
  context.audit({ action: 'add member', target: path, after: { members: addedIds(members) } })
  return [...owners, ...members]
}

async function addOwners(
  context: EntityContext,
  group: DirectoryObject,
  references: readonly ObjectReference[],
): Promise<Change[]> {
  if (references.length === 0) return []
  const { tx, caller, audit } = context
  requirePermissions(caller, writeGroupOwners)
  if (group.properties.isAssignableToRole === true) requireForRoleAssignableGroup(caller)
  const { objects } = await lockReferences(tx, caller.tenantId, group.id, references, 'share')
  const ids = objects.map((object, at) => {
    if (!object) return fail('ObjectNotFound', { id: references[at]?.key ?? '' })
    return ownerKinds.includes(object.kind) ? object.id : fail('ImpossibleReference', { property: 'owners' })
  })
  if (new Set(ids).size < ids.length) fail('ReferenceGivenTwice', { property: 'owners' })
  await beforeWrite(context, describeWrite('add', group, { owners: ids }))
  // The caller may be an owner already, as the person who created the group.
  const added = await tx<{ id: string }[]>`
    insert into owner_edge (tenant_id, object_id, owner_id)
    select ${caller.tenantId}, ${group.id}, id from unnest(${ids}::uuid[]) as id order by id
    on conflict do nothing returning owner_id as id`
  audit({ action: 'add owner', target: `/groups/${group.id}`, after: { owners: ids } })
  return added.map(({ id }) => describeMembership('ownerAdded', group, id))
}
