import { Type } from 'typebox'
import { noContent } from '../../api/operation.ts'
import { appendChanges } from '../../db/change-log.ts'
import { operation } from '../operation.ts'
import { addedIds, addMembers, addMembersRows, lockForAdding } from './add-members.ts'
import { answerLenient, isLenient } from './lenient.ts'
import { readObjectId, readReference } from './object-reference.ts'

export const reference = Type.Object(
  { '@odata.id': Type.String({ description: 'URL of a directory object' }) },
  { additionalProperties: false },
)

export const addMember = operation({
  name: 'addMember',
  clause: 'DIR-45',
  summary: 'Add one member to a group',
  method: 'POST',
  path: '/groups/:id/members/$ref',
  permission: { anyRow: addMembersRows },
  right: 'changeMembers',
  body: reference,
  answers: { 204: null },
  async run(context) {
    const { params, body, caller, tx, request, audit } = context
    const groupId = readObjectId(params.id)
    const member = readReference(body['@odata.id'], '@odata.id')
    const lenient = isLenient(request)
    const found = await lockForAdding(tx, caller, groupId, [member], 'share')
    const changes = await addMembers(context, found, { lenient })
    if (changes.length > 0)
      audit({ action: 'add member', target: `/groups/${groupId}`, after: { members: addedIds(changes) } })
    await appendChanges(tx, caller.tenantId, changes)
    return answerLenient(noContent, lenient)
  },
})
