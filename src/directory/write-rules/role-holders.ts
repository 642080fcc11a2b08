import type { Caller } from '../../auth/caller.ts'
import { directoryRoleTemplates } from '../../auth/directory-roles.ts'
import { requirePermissions } from '../../auth/permit.ts'
import type { Query } from '../../db/query.ts'
import { fail } from '../../kernel/problem.ts'
import type { EntityWrite, WriteContext } from '../entities/entity-write.ts'
import { createSqlGraph } from '../membership/sql-graph.ts'
import { passwordPermissions, roleAssignablePermissions } from '../objects/object-permissions.ts'
import { roleTemplates } from '../objects/role-templates.ts'

/** Members of a group that can hold roles are as strong as these roles: few callers may make or delete such a group. */
export function requireForGroupThatHoldsRoles(
  { caller }: WriteContext,
  { verb, kind, before, changes }: EntityWrite,
): void {
  const isWhole = verb === 'create' || verb === 'delete' || verb === 'restore' || verb === 'purge'
  const holdsRoles = before.isAssignableToRole === true || changes.isAssignableToRole === true
  if (kind === 'group' && isWhole && holdsRoles) requirePermissions(caller, roleAssignablePermissions)
}

/** A caller who changes one of these can sign in as the user, lock the user out or receive their messages. */
const sensitiveProperties = [
  'accountEnabled',
  'businessPhones',
  'mobilePhone',
  'onPremisesImmutableId',
  'otherMails',
  'passwordProfile',
  'userPrincipalName',
]

/** Passwords have permissions of their own, and accounts that hold a directory role are for administrators alone. */
export async function requirePowerOverAccount(
  { tx, caller }: WriteContext,
  { verb, kind, id, changes }: EntityWrite,
): Promise<void> {
  if (kind !== 'user' || id === undefined) return
  if (verb === 'update' && changes.passwordProfile !== undefined) {
    requirePermissions(caller, passwordPermissions)
    requirePasswordRole(caller)
  }
  const isSensitive = sensitiveProperties.some((name) => Object.hasOwn(changes, name))
  if (verb !== 'update' || isSensitive) await requirePowerOver(tx, caller, id)
}

/**
 * A caller with power over an account is as strong as the directory roles that the account holds. A person must be
 * Global Administrator for that, an application must be allowed to manage roles.
 */
async function requirePowerOver(tx: Query, caller: Caller, userId: string): Promise<void> {
  const isOwn = caller.kind === 'delegated' && caller.objectId.toLowerCase() === userId
  if (isOwn || !(await holdsRole(tx, caller.tenantId, userId))) return
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

/** A delegated permission reaches no further than the person's own role. */
function requirePasswordRole(caller: Caller): void {
  if (caller.kind === 'delegated' && !passwordRoleIds.some((id) => caller.directoryRoles.has(id)))
    fail('InsufficientPrivileges')
}
