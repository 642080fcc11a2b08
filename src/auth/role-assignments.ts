import { fail } from '../kernel/problem.ts'
import type { Caller } from './caller.ts'
import { findMaskingRole, type MaskingRole, roleAllows } from './masking-roles.ts'

export interface Assignment {
  readonly role: string
  /** In the form of `normalizeScope`. */
  readonly scope: string
}

/** Reads the role assignments of an object: its own, and those of every group that it is in. */
export type AssignmentsOf = (tenantId: string, objectId: string) => Promise<readonly Assignment[]>

/** People reach masking through applications that were allowed to act for them; their roles say how far. */
const delegatedScopes = ['user_impersonation', '.default']

// From the start of the scope: a subscription may be named `providers`, and a resource group `servers`.
const serverStem = /^(\/subscriptions\/[^/]+\/resourcegroups\/[^/]+\/providers)\/[^/]+\/servers(?=\/|$)/

/**
 * The form in which scopes are stored and compared: lower case, no slash at the end, and one name for the provider,
 * which has aliases.
 */
export function normalizeScope(scope: string): string {
  const path = scope.toLowerCase().replace(/\/+$/, '')
  return path === '' ? '/' : path.replace(serverStem, '$1/vendor.sql/servers')
}

/** A name that holds a slash must not look like two segments of a scope. */
export function encodeScopeSegment(name: string): string {
  return name.replaceAll('%', '%25').replaceAll('/', '%2F')
}

/** Whole segments: an assignment at `/a/b` covers `/a/b/c`, and neither `/a/bc` nor `/a`. Both sides normalized. */
export function isWithin(scope: string, assigned: string): boolean {
  return assigned === '/' || scope === assigned || scope.startsWith(`${assigned}/`)
}

export async function requireAction(
  assignmentsOf: AssignmentsOf,
  caller: Caller,
  action: string,
  scope: string,
): Promise<void> {
  if (await mayAct(assignmentsOf, caller, action, scope)) return
  const { applicationId: client, objectId } = caller
  fail('AuthorizationFailed', { client, objectId, action, scope })
}

/** True when a role of the caller allows the action at the scope, as the assignments are now. */
export async function mayAct(
  assignmentsOf: AssignmentsOf,
  caller: Caller,
  action: string,
  scope: string,
): Promise<boolean> {
  return mayUseMasking(caller) && (await isAssigned(assignmentsOf, caller, action, normalizeScope(scope)))
}

/** The roles that the caller holds, as the assignments are now; none for a caller who may not use masking. */
export async function readRoles(
  assignmentsOf: AssignmentsOf,
  caller: Caller,
): Promise<readonly Assignment[]> {
  return mayUseMasking(caller) ? assignmentsOf(caller.tenantId, caller.objectId) : []
}

/** Applications act by themselves; people through one that they allowed to act for them. */
export function mayUseMasking(caller: Caller): boolean {
  if (caller.kind === 'application') return true
  return !caller.personal && delegatedScopes.some((scope) => caller.permissions.has(scope))
}

async function isAssigned(
  assignmentsOf: AssignmentsOf,
  { tenantId, objectId }: Caller,
  action: string,
  scope: string,
): Promise<boolean> {
  const assignments = await assignmentsOf(tenantId, objectId)
  return assignments.some((assignment) => {
    const role = findMaskingRole(assignment.role)
    return role !== undefined && isWithin(scope, assignment.scope) && roleAllows(role, action)
  })
}

/** The scopes at and below which these assignments allow an action. */
export function scopesAllowing(assignments: readonly Assignment[], action: string): string[] {
  return assignments
    .filter(({ role }) => {
      const known = findMaskingRole(role)
      return known !== undefined && roleAllows(known, action)
    })
    .map(({ scope }) => scope)
}

/** The roles among these assignments that count at a scope, each once. */
export function rolesAt(assignments: readonly Assignment[], scope: string): MaskingRole[] {
  const counting = assignments.filter((assignment) => isWithin(scope, assignment.scope))
  const roles = counting.map(({ role }) => findMaskingRole(role)).filter((role) => role !== undefined)
  return [...new Set(roles)]
}
