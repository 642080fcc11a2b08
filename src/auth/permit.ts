import { fail } from '../kernel/problem.ts'
import type { Caller } from './caller.ts'
import { satisfies, withImplied } from './implied-permissions.ts'
import { type Alternative, type Permission, type PermissionRow, parseCell } from './permission.ts'

/** Throws unless the caller's permissions satisfy the row; for operations that learn the row from the body. */
export function requirePermissions(caller: Caller, row: PermissionRow): void {
  if (!holds(caller, row)) fail('InsufficientPrivileges')
}

/** Worked out once per token and row: all requests with a token share its caller. */
const answers = new WeakMap<Caller, WeakMap<PermissionRow, boolean>>()

export function holds(caller: Caller, row: PermissionRow): boolean {
  let rows = answers.get(caller)
  if (!rows) {
    rows = new WeakMap()
    answers.set(caller, rows)
  }
  let answer = rows.get(row)
  if (answer === undefined) {
    answer = workOut(caller, row)
    rows.set(row, answer)
  }
  return answer
}

function workOut(caller: Caller, row: PermissionRow): boolean {
  const { permissions } = caller
  const alternatives = alternativesFor(caller, row)
  if (!row.leastPrivileged) return alternatives.some((all) => all.every((name) => permissions.has(name)))
  const held = impliedOf(permissions)
  return alternatives.some((all) => all.every((name) => satisfies(held, name, all)))
}

const implied = new WeakMap<ReadonlySet<string>, ReadonlySet<string>>()

/** Worked out once per token: all requests with a token share its set of permissions. */
function impliedOf(permissions: ReadonlySet<string>): ReadonlySet<string> {
  const known = implied.get(permissions)
  if (known) return known
  const held = withImplied(permissions)
  implied.set(permissions, held)
  return held
}

function alternativesFor(caller: Caller, row: PermissionRow): readonly Alternative[] {
  if (caller.kind === 'application') return parseCell(row.application)
  return parseCell(caller.personal ? row.personal : row.delegated)
}

/** The directory's share of `Gatekeeper.permit`; masking actions go by role assignments. */
export function permitByTable(caller: Caller, permission: Permission): void {
  if (!isPermittedByTable(caller, permission)) fail('InsufficientPrivileges')
}

/** False for masking actions, which no table permits. */
export function isPermittedByTable(caller: Caller, permission: Permission): boolean {
  if ('action' in permission) return false
  if ('anyCaller' in permission) return true
  const rows = 'anyRow' in permission ? permission.anyRow : [permission.row]
  return rows.some((row) => holds(caller, row))
}
