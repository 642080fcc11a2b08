import type { Caller } from '../../auth/caller.ts'
import { directoryRoleTemplates } from '../../auth/directory-roles.ts'
import { requirePermissions } from '../../auth/permit.ts'
import type { Query } from '../../db/query.ts'
import { fail } from '../../kernel/problem.ts'
import { createSqlGraph } from '../membership/sql-graph.ts'
import { roleAssignablePermissions } from './object-permissions.ts'
import type { DirectoryObject } from './object-store.ts'
import { roleTemplates } from './role-templates.ts'

/** With these somebody can get in as a user, shut them out, or have their messages. */
const sensitiveProperties = [
  'accountEnabled',
  'businessPhones',
  'mobilePhone',
  'onPremisesImmutableId',
  'otherMails',
  'passwordProfile',
  'userPrincipalName',
]

export function isSensitive(changes: object): boolean {
  return sensitiveProperties.some((name) => Object.hasOwn(changes, name))
}

/**
 * Whoever has power over an account with a directory role is as strong as the role. A person needs to be Global
 * Administrator for it, an application must be allowed to manage roles.
 */
export async function requirePowerOver(tx: Query, caller: Caller, target: DirectoryObject): Promise<void> {
  const isOwn = caller.kind === 'delegated' && caller.objectId.toLowerCase() === target.id
  if (target.kind !== 'user' || isOwn || !(await holdsRole(tx, caller.tenantId, target.id))) return
  if (caller.kind === 'application') requirePermissions(caller, roleAssignablePermissions)
  else if (!caller.directoryRoles.has(directoryRoleTemplates['Global Administrator']))
    fail('InsufficientPrivileges')
}

async function holdsRole(tx: Query, tenantId: string, userId: string): Promise<boolean> {
  const roles = await tx<{ id: string }[]>`
    select id from directory_object
    where tenant_id = ${tenantId} and kind = 'directoryRole' and deleted_at is null`
  const ids = roles.map(({ id }) => id)
  // Asked within the transaction: one that waits for a second connection can wait for itself.
  return (await createSqlGraph(tx).groupsAmong(tenantId, userId, ids, { includeRoles: true })).length > 0
}

const passwordRoles = ['Global Administrator', 'User Administrator', 'Helpdesk Administrator']
const passwordRoleIds = roleTemplates
  .filter(({ displayName }) => passwordRoles.includes(displayName))
  .map(({ id }) => id)

/** A delegated permission goes no further than the person's own role. */
export function requirePasswordRole(caller: Caller): void {
  if (caller.kind === 'delegated' && !passwordRoleIds.some((id) => caller.directoryRoles.has(id)))
    fail('InsufficientPrivileges')
}
