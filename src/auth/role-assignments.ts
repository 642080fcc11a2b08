import type { Query } from '../db/query.ts'
import { fail } from '../kernel/problem.ts'
import type { Caller } from './caller.ts'
import { findMaskingRole, roleAllows } from './masking-roles.ts'

/** Every group that an object is in, directly or through other groups. */
export type GroupsOf = (tenantId: string, objectId: string) => Promise<readonly string[]>

/** People reach masking through applications that were allowed to act for them; their roles say how far. */
const delegatedScopes = ['user_impersonation', '.default']

/**
 * The form in which scopes are stored and compared: lower case, no slash at the end, and one name for the provider,
 * which has aliases.
 */
export function normalizeScope(scope: string): string {
  const path = scope.toLowerCase().replace(/\/+$/, '')
  return path === ''
    ? '/'
    : path.replace(/\/providers\/[^/]+\/servers(?=\/|$)/, '/providers/vendor.sql/servers')
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
  sql: Query,
  groupsOf: GroupsOf,
  caller: Caller,
  action: string,
  scope: string,
): Promise<void> {
  if (mayUseMasking(caller) && (await isAssigned(sql, groupsOf, caller, action, normalizeScope(scope))))
    return
  const { applicationId: client, objectId } = caller
  fail('AuthorizationFailed', { client, objectId, action, scope })
}

/** Applications act by themselves; people through one that they allowed to act for them. */
export function mayUseMasking(caller: Caller): boolean {
  if (caller.kind === 'application') return true
  return !caller.personal && delegatedScopes.some((scope) => caller.permissions.has(scope))
}

async function isAssigned(
  sql: Query,
  groupsOf: GroupsOf,
  { tenantId, objectId }: Caller,
  action: string,
  scope: string,
): Promise<boolean> {
  const principals = [objectId, ...(await groupsOf(tenantId, objectId))]
  const assignments = await sql<{ role: string; scope: string }[]>`
    select distinct role, scope from role_assignment
    where tenant_id = ${tenantId} and principal_id = any(${principals}::uuid[])`
  return assignments.some((assignment) => {
    const role = findMaskingRole(assignment.role)
    return role !== undefined && isWithin(scope, assignment.scope) && roleAllows(role, action)
  })
}
