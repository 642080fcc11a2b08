import { randomUUID } from 'node:crypto'
import { appendChanges } from '../../db/change-log.ts'
import { fail } from '../../kernel/problem.ts'
import { checkAppRoles } from '../app-roles/app-roles.ts'
import { copyAppRoles } from '../app-roles/copy-app-roles.ts'
import { checkFirstKeys, checkKeyPermission, completeKeys } from '../applications/key-credentials.ts'
import { operationsOn } from '../entities/entity-operations.ts'
import type { EntityContext } from '../entities/entity-set.ts'
import type { Json, JsonObject } from '../entities/property.ts'
import { application } from './kinds/application.ts'
import { servicePrincipal } from './kinds/service-principal.ts'
import { objectSet, objectUpdate } from './object-set.ts'

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
    async also({ tx, caller: { tenantId } }, { row }, changes) {
      if (!Object.hasOwn(changes, 'appRoles')) return
      await appendChanges(tx, tenantId, await copyAppRoles(tx, tenantId, [String(row.properties.appId)]))
    },
  },
})

const servicePrincipals = objectSet(servicePrincipal, { creation: { complete: describePrincipal } })

export const applicationOperations = [applications, servicePrincipals].flatMap((set) =>
  operationsOn(set, ['list', 'count', 'get', 'create', 'update', 'delete']),
)

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
