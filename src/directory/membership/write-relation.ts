import { type AuditEntry, noContent } from '../../api/operation.ts'
import type { Caller } from '../../auth/caller.ts'
import type { PermissionRow } from '../../auth/permission.ts'
import { appendChanges, type Change } from '../../db/change-log.ts'
import { fail } from '../../kernel/problem.ts'
import { describeWrite, type WriteContext } from '../entities/entity-write.ts'
import { describePlace } from '../objects/object-set.ts'
import type { DirectoryObject } from '../objects/object-store.ts'
import { operation } from '../operation.ts'
import { requireForRoleAssignableGroup } from '../permissions.ts'
import { beforeWrite } from '../write-rules/before-write.ts'
import { reference } from './add-member.ts'
import { describeMembership } from './describe-membership.ts'
import { answerLenient, isLenient } from './lenient.ts'
import { lockReferences } from './lock-references.ts'
import { readObjectId, readReference } from './object-reference.ts'
import { columnsOf } from './relation-source.ts'
import { nounOf, type Relation } from './relations.ts'

/** Adds to a relation whose permission does not depend on the added object, as that for members of a group does. */
export function addToRelation(relation: Relation, permission: PermissionRow) {
  const { path, name } = relation
  return operation({
    name: `addTo${nounOf(relation)}`,
    clause: 'DIR-136',
    summary: `Add to ${name}`,
    method: 'POST',
    path: `${path}/${name}/$ref`,
    permission: { row: permission },
    right: relation.right,
    body: reference,
    answers: { 204: null },
    async run(context) {
      const { params, body, caller, tx, request } = context
      const id = readObjectId(params.id)
      const sent = readReference(body['@odata.id'], '@odata.id')
      const { container: found, objects } = await lockReferences(tx, caller.tenantId, id, [sent], 'share')
      const container = checkContainer(caller, relation, id, found)
      const object = objects[0] ?? fail('ObjectNotFound', { id: sent.key })
      if (!canBeAdded(relation, object)) fail('ImpossibleReference', { property: name })
      const added = await addReference(context, relation, container, object)
      const lenient = isLenient(request)
      if (added.length === 0 && !lenient) fail('ReferenceExistsAlready', { property: name })
      await appendChanges(tx, caller.tenantId, added)
      return answerLenient(noContent, lenient)
    },
  })
}

/** Checks, stores and audits a reference between locked objects. Returns the changes for the log; none: it is there. */
export async function addReference(
  context: WriteContext,
  { name, edge }: Relation,
  container: DirectoryObject,
  object: DirectoryObject,
): Promise<Change[]> {
  const { tx, caller, audit } = context
  const { table, near, far } = columnsOf[edge]
  const after = { [name]: [object.id] }
  const given: AuditEntry[] = []
  const checking = { ...context, audit: (entry: AuditEntry) => void given.push(entry) }
  await beforeWrite(checking, describeWrite('add', container, after))
  const { count } = await tx`
    insert into ${tx(table)} ${tx({ tenant_id: caller.tenantId, [near]: container.id, [far]: object.id })}
    on conflict do nothing`
  if (count === 0) return []
  const noun = singularOf(name)
  given.forEach(audit)
  audit({ action: `add ${noun}`, target: describePlace(container).path, after })
  return [describeMembership(`${noun}Added`, container, object.id)]
}

export function removeFromRelation(relation: Relation, permission: PermissionRow) {
  const { path, name } = relation
  return operation({
    name: `removeFrom${nounOf(relation)}`,
    clause: 'DIR-137',
    summary: `Remove from ${name}`,
    method: 'DELETE',
    path: `${path}/${name}/:otherId/$ref`,
    permission: { row: permission },
    right: relation.right,
    answers: { 204: null },
    async run(context) {
      const { params, caller, tx } = context
      const id = readObjectId(params.id)
      const otherId = readObjectId(params.otherId)
      const { container: found } = await lockReferences(tx, caller.tenantId, id, [], 'share')
      const container = checkContainer(caller, relation, id, found)
      const removed = await removeReference(context, relation, container, otherId)
      if (removed.length === 0) fail('ObjectNotFound', { id: otherId })
      await appendChanges(tx, caller.tenantId, removed)
      return noContent
    },
  })
}

/** Checks, removes and audits a reference of a locked object. Returns the changes for the log; none: there was none. */
export async function removeReference(
  context: WriteContext,
  { name, edge }: Relation,
  container: DirectoryObject,
  otherId: string,
): Promise<Change[]> {
  const { tx, caller, audit } = context
  const { table, near, far } = columnsOf[edge]
  const before = { [name]: [otherId] }
  await beforeWrite(context, describeWrite('remove', container, before))
  const { count } = await tx`
    delete from ${tx(table)}
    where tenant_id = ${caller.tenantId} and ${tx(near)} = ${container.id} and ${tx(far)} = ${otherId}`
  if (count === 0) return []
  const noun = singularOf(name)
  audit({ action: `remove ${noun}`, target: describePlace(container).path, before })
  return [describeMembership(`${noun}Removed`, container, otherId)]
}

/** The object that the path names. Owners of a group that can hold roles decide who holds them, as its members do. */
function checkContainer(
  caller: Caller,
  { from }: Relation,
  id: string,
  container: DirectoryObject | undefined,
): DirectoryObject {
  if (container?.kind !== from) return fail('ObjectNotFound', { id })
  const isRoleAssignable = from === 'group' && container.properties.isAssignableToRole === true
  if (isRoleAssignable) requireForRoleAssignableGroup(caller)
  return container
}

/** Roles go only to groups that can hold roles: far more callers may add members to the others. */
export function canBeAdded({ from, to }: Relation, { kind, properties }: DirectoryObject): boolean {
  if (from === 'directoryRole' && kind === 'group') return properties.isAssignableToRole === true
  return to.includes(kind)
}

function singularOf(name: string): 'owner' | 'member' {
  return name === 'owners' ? 'owner' : 'member'
}
