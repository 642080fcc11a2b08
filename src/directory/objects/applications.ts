import { randomUUID } from 'node:crypto'
import { appendChanges } from '../../db/change-log.ts'
import { fail } from '../../kernel/problem.ts'
import { checkAppRoles, noRoleId } from '../app-roles/app-roles.ts'
import { checkFirstKeys, checkKeyPermission, completeKeys } from '../applications/key-credentials.ts'
import { operationsOn } from '../entities/entity-operations.ts'
import type { EntityContext, Located } from '../entities/entity-set.ts'
import type { Json, JsonObject } from '../entities/property.ts'
import { isJsonObject } from '../entities/storable.ts'
import { application } from './kinds/application.ts'
import { servicePrincipal } from './kinds/service-principal.ts'
import { objectSet, objectUpdate } from './object-set.ts'
import { type DirectoryObject, describeChange, objectColumns, updateObject } from './object-store.ts'

const applications = objectSet(application, {
  creation: {
    check: (caller, sent) => {
      checkAppRoles(sent)
      checkFirstKeys(caller, sent)
    },
    complete: async (_context, properties) => ({ ...completeKeys(properties), appId: randomUUID() }),
  },
  update: {
    ...objectUpdate,
    check: (caller, changes) => {
      checkAppRoles(changes)
      checkKeyPermission(caller, changes)
    },
    store: (context, located, changes) =>
      objectUpdate.store(context, located, completeKeys(changes, located.row.properties)),
    also: copyAppRoles,
  },
})

const servicePrincipals = objectSet(servicePrincipal, { creation: { complete: describePrincipal } })

export const applicationOperations = [applications, servicePrincipals].flatMap((set) =>
  operationsOn(set, ['list', 'count', 'get', 'create', 'update', 'delete']),
)

/** The service principal has the roles of its application. Assignments of roles that are gone end. */
async function copyAppRoles(
  { tx, caller: { tenantId } }: EntityContext,
  { row }: Located<DirectoryObject>,
  changes: JsonObject,
): Promise<void> {
  if (!Object.hasOwn(changes, 'appRoles')) return
  const [principal] = await tx<DirectoryObject[]>`
    select ${objectColumns(tx)} from directory_object o
    where o.tenant_id = ${tenantId} and o.kind = 'servicePrincipal' and o.app_id = ${String(row.properties.appId)}
      and o.deleted_at is null for update`
  if (!principal) return
  const appRoles = row.properties.appRoles ?? null
  const updated = await updateObject(tx, tenantId, principal, { appRoles })
  const ids = listOf(appRoles).map((role) => (isJsonObject(role) ? String(role.id) : ''))
  await tx`
    delete from app_role_assignment
    where tenant_id = ${tenantId} and resource_id = ${principal.id} and app_role_id <> all(${[...ids, ...(ids.length === 0 ? [noRoleId] : [])]}::uuid[])`
  await appendChanges(tx, tenantId, [describeChange('updated', updated)])
}

/**
 * Adds what a service principal takes over from its application. The application is locked before it is read: its deletion takes
 * along, and a change of its roles changes, the service principal that is there.
 */
async function describePrincipal(
  { tx, caller: { tenantId } }: EntityContext,
  properties: JsonObject,
): Promise<JsonObject> {
  const appId = String(properties.appId)
  const [found] = await tx<{ properties: JsonObject }[]>`
    select properties from directory_object
    where tenant_id = ${tenantId} and kind = 'application' and app_id = ${appId} and deleted_at is null for update`
  if (!found) return fail('UnknownApplication', { appId })
  const inherited: Record<string, Json | undefined> = {
    displayName: found.properties.displayName,
    appDisplayName: found.properties.displayName,
    appDescription: found.properties.description,
    appOwnerOrganizationId: tenantId,
    appRoles: found.properties.appRoles,
    signInAudience: found.properties.signInAudience ?? 'AzureADMyOrg',
    servicePrincipalNames: [appId, ...listOf(found.properties.identifierUris)],
  }
  const known = Object.entries(inherited).filter((entry): entry is [string, Json] => entry[1] !== undefined)
  return { ...Object.fromEntries(known), ...properties }
}

function listOf(value: Json | undefined | null): readonly Json[] {
  return Array.isArray(value) ? value : []
}
