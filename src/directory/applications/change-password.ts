import { Type } from 'typebox'
import { noContent } from '../../api/operation.ts'
import { fail } from '../../kernel/problem.ts'
import { operation } from '../operation.ts'

const password = Type.String({ minLength: 1, maxLength: 512 })

export const changeOwnPassword = operation({
  name: 'changePassword',
  clause: 'DIR-152',
  summary: 'Change one’s own password',
  method: 'POST',
  path: '/me/changePassword',
  permission: { anyCaller: 'it is about the caller alone, and asks for the present password' },
  right: 'changeOwnPassword',
  // A wrong password is counted even though the request fails: the port has a transaction of its own.
  reads: true,
  body: Type.Object({ currentPassword: password, newPassword: password }, { additionalProperties: false }),
  answers: { 204: null },
  async run({ caller, body: { currentPassword, newPassword }, audit, ports }) {
    if (caller.kind !== 'delegated' || caller.personal) fail('DelegatedOnly')
    await ports.changePassword(caller, currentPassword, newPassword)
    audit({ action: 'change password', target: `/users/${caller.objectId}` })
    return noContent
  },
})
