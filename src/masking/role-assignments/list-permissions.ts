import { Type } from 'typebox'
import { ok } from '../../api/operation.ts'
import { type MaskingRole, maskingRoles } from '../../auth/masking-roles.ts'
import { rolesAt } from '../../auth/role-assignments.ts'
import { authorizationApiVersions, operation } from '../operation.ts'
import { siteOf } from '../resource.ts'
import { assignableScopes, readScope } from './role-assignment.ts'

const texts = Type.Array(Type.String())

export const listPermissions = operation({
  name: 'listPermissions',
  clause: 'MASK-201',
  summary: 'List the actions that the roles of the caller allow at a scope',
  method: 'GET',
  path: assignableScopes.map((scope) => `${scope}/providers/Vendor.Authorization/permissions`),
  apiVersions: authorizationApiVersions,
  permission: { anyCaller: 'it answers about the roles of the caller alone' },
  answers: {
    200: Type.Object({
      value: Type.Array(
        Type.Object(
          { roleName: Type.String(), actions: texts, notActions: texts },
          { title: 'rolePermissions' },
        ),
      ),
    }),
  },

  async run(context) {
    const { tx, caller, params, ports } = siteOf(context)
    const { scope } = readScope(params)
    const roles = rolesAt(await ports.rolesOf(tx, caller), scope)
    return ok({ value: roles.map(render) })
  },
})

function render(role: MaskingRole) {
  const { actions, exceptActions } = maskingRoles[role]
  return { roleName: role, actions: [...actions], notActions: [...exceptActions] }
}
