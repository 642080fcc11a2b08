import type { Caller } from '../../auth/caller.ts'
import {
  matchesConsent,
  matchesPermission,
  mayGrantInPerson,
  mayGrantRights,
} from '../../auth/grantable-permissions.ts'
import { lockRightsToGive, lockRightsToRead } from '../../auth/rights-lock.ts'
import type { Query } from '../../db/query.ts'
import { fail } from '../../kernel/problem.ts'
import type { EntityWrite, WriteContext } from '../entities/entity-write.ts'
import type { Json } from '../entities/property.ts'
import { listOwnAppIds } from '../first-start/own-clients.ts'
import { findObject } from '../objects/object-store.ts'
import { findCompanions } from '../objects/remove-object.ts'
import { readAdmittedPermissions } from '../rights/application-access.ts'
import { type ApplicationStrength, readApplicationStrength } from '../rights/application-strength.ts'
import { type CarriedRight, nameRights, readCarriedRights } from '../rights/carried-rights.ts'
import { auditGivenRights, isRevival } from './audit-given-rights.ts'
import { findAppId } from './keep-own-clients.ts'

/** Properties that neither lead into an application nor change what it may do. */
const harmlessProperties: ReadonlySet<string> = new Set([
  'description',
  'notes',
  'notificationEmailAddresses',
  'tags',
])

/**
 * DIR-154: a caller who changes credentials, redirect addresses, owners, permissions or state of an application can act
 * as the application. So the caller must have, or be able to grant, all that the application can do.
 */
export async function requireStrongerThanApplication(
  context: WriteContext,
  write: EntityWrite,
): Promise<void> {
  const { tx, caller, ports } = context
  const { verb, kind, before, changes } = write
  if (kind === 'extensionProperty' || kind === 'schemaExtension') return requireToDefine(context, write)
  if (kind !== 'application' && kind !== 'servicePrincipal') return
  // The principals that hold the application's roles: the application itself can do no more than before.
  if (Object.hasOwn(changes, 'appRoleAssignedTo')) return requireToAdmit(tx, caller, write)
  requireToGrant(caller, write)
  const isHarmless = verb === 'update' && Object.keys(changes).every((name) => harmlessProperties.has(name))
  // The service makes up the appId of a new application, so no list can name it yet.
  if (isHarmless || (verb === 'create' && kind === 'application')) return
  const appId = String(before.appId ?? changes.appId)
  if (locksPrincipals(write)) await lockPrincipals(tx, caller.tenantId, appId)
  // Groups that are assigned come to carry rights (DIR-391).
  if (changes.appRoleAssignmentRequired === true) await lockRightsToGive(tx)
  else await lockRightsToRead(tx)
  const strength = await readApplicationStrength(tx, ports.readGivenRights, caller.tenantId, appId)
  const isItself = caller.kind === 'application' && caller.applicationId === appId.toLowerCase()
  refuseBeyond(describeBeyond(caller, strength, isItself))
  if (strength.rights.length === 0 || !(verb === 'create' || isRevival(write))) return
  // Service principals that stay deleted keep the rights of their ids, and deleted groups theirs (DIR-398).
  const ids = kind === 'servicePrincipal' ? [write.id] : await listRestored(context, write)
  const rights: CarriedRight[] = []
  for (const id of ids)
    rights.push(
      ...(await readCarriedRights(tx, ports.readGivenRights, caller.tenantId, { id, names: [appId] })),
    )
  auditGivenRights(context, write, rights, { appId })
}

/** The service principals that are restored with the application; `lockPrincipals` has locked them. */
async function listRestored({ tx, caller: { tenantId } }: WriteContext, { id = '' }: EntityWrite) {
  const application = await findObject(tx, tenantId, 'application', id, { deleted: true })
  return (await findCompanions(tx, tenantId, application, application.deletedAt)).map((one) => one.id)
}

/** DIR-392, DIR-396: where a client admits assigned people alone, a role of it gives them what was consented for everyone or for them. */
async function requireToAdmit(tx: Query, caller: Caller, write: EntityWrite): Promise<void> {
  const { verb, id = '', before, changes } = write
  if (verb !== 'add' || before.appRoleAssignmentRequired !== true) return
  await lockRightsToRead(tx)
  const [admitted = ''] = namesIn(changes.appRoleAssignedTo)
  const permissions = await readAdmittedPermissions(tx, caller.tenantId, id, admitted)
  refuseBeyond(
    permissions
      .filter((permission) => !mayGrantInPerson(caller, permission, 'delegated'))
      .map((permission) => `the delegated permission ${permission}`),
  )
}

/**
 * DIR-415, DIR-416: a definition is part of its application, and its deletion removes the values of all objects. It takes no lock of
 * rights, which it would hold for as long as that: a definition is no way into the application, so a grant may come before or behind it.
 */
async function requireToDefine({ tx, caller, ports }: WriteContext, write: EntityWrite): Promise<void> {
  const { kind, owner, before, changes } = write
  const isSchema = kind === 'schemaExtension'
  const found = isSchema
    ? (before.owner ?? changes.owner)
    : await findAppId(tx, caller.tenantId, owner?.id ?? '')
  const appId = String(found).toLowerCase()
  if (isSchema && (await listOwnAppIds(tx, caller.tenantId)).includes(appId))
    return requireForOwnClient(caller)
  if (caller.applicationId === appId && (isSchema || caller.kind === 'application')) return
  const strength = await readApplicationStrength(tx, ports.readGivenRights, caller.tenantId, appId)
  refuseBeyond(describeBeyond(caller, strength, false))
}

/** DIR-431: all people sign in to the product's own clients, so requests of such a client are not those of one application. */
function requireForOwnClient(caller: Caller): void {
  if (!mayGrantRights(caller))
    fail('RightsRequired', {
      reason:
        "The schema extension names one of the service's own applications as owner. Name another application, or let a Global Administrator or Privileged Role Administrator do it.",
    })
}

function refuseBeyond(beyond: readonly string[]): void {
  if (beyond.length > 0)
    fail('RightsRequired', {
      reason: `The application has ${beyond.join(', ')}, which the caller could not grant.`,
    })
}

/** True for writes that change the service principals of an application as well. */
function locksPrincipals({ verb, kind, changes }: EntityWrite): boolean {
  const isWhole = verb === 'delete' || verb === 'restore'
  return kind === 'application' && (isWhole || Object.hasOwn(changes, 'appRoles'))
}

/** Before the lock of rights: a grant locks the service principal, and then waits for the writes that hold this lock. */
async function lockPrincipals(tx: Query, tenantId: string, appId: string): Promise<void> {
  await tx`
    select from directory_object
    where tenant_id = ${tenantId} and kind = 'servicePrincipal' and app_id = ${appId.toLowerCase()}
    order by id for update`
}

/** The rights of the application that the caller could not grant. An application matches itself, not its users. */
function describeBeyond(caller: Caller, strength: ApplicationStrength, isItself: boolean): string[] {
  const beyond = strength.consents
    .filter(({ permission, forEveryone }) => !matchesConsent(caller, permission, forEveryone))
    .map(({ permission }) => `the delegated permission ${permission}`)
  if (isItself) return beyond
  const permissions = strength.permissions.filter((name) => !matchesPermission(caller, name))
  beyond.push(...permissions.map((name) => `the application permission ${name}`))
  if (strength.rights.length > 0 && !mayGrantRights(caller)) beyond.push(nameRights(strength.rights))
  return beyond
}

/** Refuses permissions that the roles of the signed-in person do not include granting. */
function requireToGrant(caller: Caller, { verb, changes }: EntityWrite): void {
  if (verb !== 'add') return
  const kind = Object.hasOwn(changes, 'appRoleAssignments') ? 'application' : 'delegated'
  for (const name of namesIn(changes.oauth2PermissionGrants ?? changes.appRoleAssignments))
    if (!mayGrantInPerson(caller, name, kind))
      fail('RightsRequired', {
        reason: `To grant ${name}, the signed-in person must be Global Administrator or Privileged Role Administrator.`,
      })
}

function namesIn(value: Json | undefined): string[] {
  return Array.isArray(value) ? value.map(String) : []
}
