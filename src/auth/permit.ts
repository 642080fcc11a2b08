import { fail } from '../kernel/problem.ts'
import type { Caller } from './caller.ts'
import { withImplied } from './implied-permissions.ts'
import { type Alternative, type Permission, type PermissionRow, parseCell } from './permission.ts'

/** Throws unless the caller's permissions satisfy the row; for operations that learn the row from the body. */
export function requirePermissions(caller: Caller, row: PermissionRow): void {
  if (!holds(caller, row)) fail('InsufficientPrivileges')
}

export function holds(caller: Caller, row: PermissionRow): boolean {
  const held = row.leastPrivileged ? withImplied(caller.permissions) : caller.permissions
  return alternativesFor(caller, row).some((alternative) => alternative.every((name) => held.has(name)))
}

function alternativesFor(caller: Caller, row: PermissionRow): readonly Alternative[] {
  if (caller.kind === 'application') return parseCell(row.application)
  return parseCell(caller.personal ? row.personal : row.delegated)
}

/** The directory's share of `Gatekeeper.permit`; masking actions go by role assignments. */
export function permitByTable(caller: Caller, permission: Exclude<Permission, { action: string }>): void {
  if ('anyCaller' in permission) return
  if ('anyRow' in permission) {
    if (!permission.anyRow.some((row) => holds(caller, row))) fail('InsufficientPrivileges')
    return
  }
  requirePermissions(caller, permission.row)
}
