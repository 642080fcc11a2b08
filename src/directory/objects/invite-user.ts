import { Type } from 'typebox'
import { ok } from '../../api/operation.ts'
import { invitationEnd, invitationHours, makeInvitation } from '../accounts/invitation.ts'
import { setPassword } from '../accounts/password.ts'
import { describeWrite } from '../entities/entity-write.ts'
import { operation } from '../operation.ts'
import { objectRights } from '../rights/declared-rights.ts'
import { beforeWrite } from '../write-rules/before-write.ts'
import { objectPermissions } from './object-permissions.ts'
import { findUser } from './object-store.ts'

export const inviteUser = operation({
  name: 'inviteUser',
  clause: 'DIR-280',
  summary: 'Replace the password of a user by one that works once and for a time, and is shown this once',
  method: 'POST',
  path: '/users/:id/invite',
  permission: { row: objectPermissions.user.update },
  right: objectRights.user.update,
  body: Type.Object(
    { lifetimeInHours: Type.Optional(Type.Integer({ minimum: 1, maximum: invitationHours.most })) },
    { additionalProperties: false },
  ),
  answers: { 200: Type.Object({ password: Type.String(), expirationDateTime: Type.String() }) },
  async run(context) {
    const { tx, caller, params, body, audit } = context
    const user = await findUser(tx, caller.tenantId, params.id ?? '', { lock: true })
    await beforeWrite(context, describeWrite('update', user, { passwordProfile: {} }))
    const password = makeInvitation()
    const expiresAt = invitationEnd(body.lifetimeInHours)
    await setPassword(tx, caller.tenantId, user.id, password, { mustChange: true, expiresAt })
    const expirationDateTime = expiresAt.toISOString()
    audit({ action: 'invite user', target: `/users/${user.id}`, after: { expirationDateTime } })
    return ok({ password, expirationDateTime })
  },
})
