import { type Answer, type AuditEntry, noContent, ok } from '../../api/operation.ts'
import type { Caller } from '../../auth/caller.ts'
import { holds, requirePermissions } from '../../auth/permit.ts'
import { appendChanges } from '../../db/change-log.ts'
import { checkPrecondition, entityTag } from '../entities/entity-tag.ts'
import { describeWrite } from '../entities/entity-write.ts'
import { applyPreference, prefers } from '../entities/preferences.ts'
import type { JsonObject } from '../entities/property.ts'
import { isAnnotation, unknownNames } from '../entities/read-properties.ts'
import { bodyOf, entitySchema } from '../entities/schemas.ts'
import { extensionPropertiesFor } from '../extensions/custom-properties.ts'
import {
  findStandAlone,
  readGroupChanges,
  recalculateMail,
  refuseDynamic,
  setsDataLocation,
} from '../objects/group-rules.ts'
import { group as resource } from '../objects/kinds/group.ts'
import { objectPermissions } from '../objects/object-permissions.ts'
import { type DirectoryObject, describeChange, updateObject } from '../objects/object-store.ts'
import { renderItem, renderObject } from '../objects/render-object.ts'
import { operation } from '../operation.ts'
import { requireDataLocationRole, requireDelegated, updateGroupPermissions } from '../permissions.ts'
import { objectRights } from '../rights/declared-rights.ts'
import { beforeWrite } from '../write-rules/before-write.ts'
import { addedIds, addMembers, addMembersRows, lockForAdding } from './add-members.ts'
import { bindMembers, readBound, references } from './bind-references.ts'
import { answerLenient, isLenient } from './lenient.ts'
import { readObjectId } from './object-reference.ts'

export const updateGroup = operation({
  name: 'updateGroup',
  clause: 'DIR-54',
  summary: 'Update properties of a group, add up to 20 members to it, or both',
  method: 'PATCH',
  path: '/groups/:id',
  contentTypeOptional: true,
  permission: { anyRow: [updateGroupPermissions.group, ...addMembersRows] },
  right: objectRights.group.update,
  ...bodyOf(resource, 'update', { [bindMembers]: references }),
  answers: { 200: entitySchema(resource), 204: null },
  async run(context) {
    const { params, body, caller, tx, request, audit } = context
    const { [bindMembers]: bound, ...sent }: JsonObject = body
    const hasProperties = bound === undefined || !Object.keys(sent).every(isAnnotation)
    const alone = hasProperties ? permitProperties(caller, sent, bound !== undefined) : undefined
    const groupId = readObjectId(params.id)
    const members = readBound(bound, bindMembers)
    const custom = await extensionPropertiesFor(tx, caller.tenantId, 'group', unknownNames(resource, sent))

    const strength = hasProperties ? 'no key update' : 'share'
    const found = await lockForAdding(tx, caller, groupId, members, strength)
    checkPrecondition(request, found.group)
    const read = readGroupChanges(found.group, sent, custom)
    if (setsDataLocation(found.group, read)) requireDataLocationRole(caller)
    const mail = await recalculateMail(tx, caller.tenantId, found.group.properties, read)
    const changes = { ...read, ...mail }
    const isChanged = Object.keys(changes).length > 0
    if (isChanged) await beforeWrite(context, describeWrite('update', found.group, changes))
    refuseDynamic(changes)
    const group = isChanged ? await updateObject(tx, caller.tenantId, found.group, changes) : found.group
    const lenient = isLenient(request)
    const added = await addMembers(context, found, { lenient })

    if (isChanged || added.length > 0) audit(describeUpdate(found.group, changes, addedIds(added)))
    const updated = isChanged ? [describeChange('updated', group)] : []
    await appendChanges(tx, caller.tenantId, [...updated, ...added])
    // The permissions to add members do not include reading the group.
    const wants = prefers(request, 'representation') && holds(caller, objectPermissions.group.read)
    const answer = alone || wants ? showGroup(group, request.baseUrl, alone) : noContent
    return answerLenient(wants ? applyPreference(answer, 'return=representation') : answer, lenient)
  },
})

/** The caller may set these properties; returns the one that stands alone, if it is one. */
function permitProperties(caller: Caller, sent: JsonObject, hasCompany: boolean): string | undefined {
  requirePermissions(caller, updateGroupPermissions.group)
  const alone = findStandAlone(sent, hasCompany)
  if (alone !== undefined) requireDelegated(caller)
  return alone
}

/** The default set of properties, and the one that was updated even where it is not in it. */
function showGroup(group: DirectoryObject, baseUrl: string, updated: string | undefined): Answer {
  const body = { ...renderObject(group, baseUrl), ...(updated && renderItem(group, { select: [updated] })) }
  return ok(body, { etag: entityTag(group) })
}

function describeUpdate(group: DirectoryObject, changes: JsonObject, memberIds: string[]): AuditEntry {
  const names = Object.keys(changes)
  return {
    action: 'update group',
    target: `/groups/${group.id}`,
    before: Object.fromEntries(names.map((name) => [name, group.properties[name] ?? null])),
    after: { ...changes, ...(memberIds.length > 0 && { members: memberIds }) },
  }
}
