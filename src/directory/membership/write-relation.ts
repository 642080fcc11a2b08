import { type AuditEntry, noContent } from '../../api/operation.ts'
import type { Caller } from '../../auth/caller.ts'
import type { PermissionRow } from '../../auth/permission.ts'
import { appendChanges } from '../../db/change-log.ts'
import { fail } from '../../kernel/problem.ts'
import { describeWrite } from '../entities/entity-write.ts'
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
  const { path, name, edge } = relation
  const { table, near, far } = columnsOf[edge]
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
      const { params, body, caller, tx, request, audit } = context
      const id = readObjectId(params.id)
      const sent = readReference(body['@odata.id'], '@odata.id')
      const { container: found, objects } = await lockReferences(tx, caller.tenantId, id, [sent], 'share')
      const container = checkContainer(caller, relation, id, found)
      const object = objects[0] ?? fail('ObjectNotFound', { id: sent.key })
      if (!canBeAdded(relation, object)) fail('ImpossibleReference', { property: name })
      const after = { [name]: [object.id] }
      const given: AuditEntry[] = []
      const checking = { ...context, audit: (entry: AuditEntry) => void given.push(entry) }
      await beforeWrite(checking, describeWrite('add', container, after))
      const { count } = await tx`
        insert into ${tx(table)} ${tx({ tenant_id: caller.tenantId, [near]: id, [far]: object.id })}
        on conflict do nothing`
      const lenient = isLenient(request)
      if (count === 0 && !lenient) fail('ReferenceExistsAlready', { property: name })
      const noun = singularOf(name)
      if (count > 0) {
        given.forEach(audit)
        audit({ action: `add ${noun}`, target: describePlace(container).path, after })
      }
      const change = describeMembership(`${noun}Added`, container, object.id)
      await appendChanges(tx, caller.tenantId, count > 0 ? [change] : [])
      return answerLenient(noContent, lenient)
    },
  })
}

export function removeFromRelation(relation: Relation, permission: PermissionRow) {
  const { path, name, edge } = relation
  const { table, near, far } = columnsOf[edge]
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
      const { params, caller, tx, audit } = context
      const id = readObjectId(params.id)
      const otherId = readObjectId(params.otherId)
      const { container: found } = await lockReferences(tx, caller.tenantId, id, [], 'share')
      const container = checkContainer(caller, relation, id, found)
      const before = { [name]: [otherId] }
      await beforeWrite(context, describeWrite('remove', container, before))
      const { count } = await tx`
        delete from ${tx(table)}
        where tenant_id = ${caller.tenantId} and ${tx(near)} = ${id} and ${tx(far)} = ${otherId}`
      if (count === 0) fail('ObjectNotFound', { id: otherId })
      const noun = singularOf(name)
      audit({ action: `remove ${noun}`, target: describePlace(container).path, before })
      const change = describeMembership(`${noun}Removed`, container, otherId)
      await appendChanges(tx, caller.tenantId, [change])
      return noContent
    },
  })
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
function canBeAdded({ from, to }: Relation, { kind, properties }: DirectoryObject): boolean {
  if (from === 'directoryRole' && kind === 'group') return properties.isAssignableToRole === true
  return to.includes(kind)
}

function singularOf(name: string): 'owner' | 'member' {
  return name === 'owners' ? 'owner' : 'member'
}
