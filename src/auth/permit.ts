import { fail } from '../kernel/problem.ts'
import type { Caller } from './caller.ts'
import { type Params, type Permission, type PermissionRow, parseCell } from './permission.ts'

/** Throws unless the caller holds what the operation asks for. */
export async function permit(caller: Caller, permission: Permission, params: Params): Promise<void> {
  if ('anyCaller' in permission) return
  if ('action' in permission)
    fail('AuthorizationFailed', {
      client: caller.applicationId,
      objectId: caller.objectId,
      action: permission.action,
      scope: permission.scope(params),
    })
  const row = typeof permission.row === 'function' ? permission.row(params) : permission.row
  if (!holds(caller, row)) fail('InsufficientPrivileges')
}

export function holds(caller: Caller, row: PermissionRow): boolean {
  const cell =
    caller.kind === 'application' ? row.application : caller.personal ? row.personal : row.delegated
  return parseCell(cell).some((alternative) => alternative.every((name) => caller.permissions.has(name)))
}
