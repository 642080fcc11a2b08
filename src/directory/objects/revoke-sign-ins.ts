import { Type } from 'typebox'
import { ok } from '../../api/operation.ts'
import { voidTokens } from '../accounts/standing.ts'
import { describeWrite } from '../entities/entity-write.ts'
import { operation } from '../operation.ts'
import { objectRights } from '../rights/declared-rights.ts'
import { beforeWrite } from '../write-rules/before-write.ts'
import { objectPermissions } from './object-permissions.ts'
import { findUser } from './object-store.ts'

export const revokeSignIns = operation({
  name: 'revokeSignInSessions',
  clause: 'DIR-295',
  summary: 'End every sign-in of a user; the password stays',
  method: 'POST',
  path: '/users/:id/revokeSignInSessions',
  permission: { row: objectPermissions.user.update },
  right: objectRights.user.update,
  answers: { 200: Type.Object({ value: Type.Boolean() }) },
  async run(context) {
    const { tx, caller, params, audit } = context
    const user = await findUser(tx, caller.tenantId, params.id ?? '', { lock: true })
    await beforeWrite(context, describeWrite('update', user, { passwordProfile: {} }))
    // Sessions and refresh tokens end with the password that they came from: it counts as set anew.
    await tx`
      update user_password set changed_at = greatest(clock_timestamp(), changed_at + interval '1 second')
      where tenant_id = ${caller.tenantId} and user_id = ${user.id}`
    await voidTokens(tx, caller.tenantId, user.id)
    audit({ action: 'revoke sign-ins', target: `/users/${user.id}` })
    return ok({ value: true })
  },
})
