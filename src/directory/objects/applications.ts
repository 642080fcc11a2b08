import { randomUUID } from 'node:crypto'
import { fail } from '../../kernel/problem.ts'
import { operationsOn } from '../entities/entity-operations.ts'
import type { EntityContext } from '../entities/entity-set.ts'
import type { Json, JsonObject } from '../entities/property.ts'
import { application } from './kinds/application.ts'
import { servicePrincipal } from './kinds/service-principal.ts'
import { objectSet } from './object-set.ts'

const applications = objectSet(application, {
  creation: { complete: async (_context, properties) => ({ ...properties, appId: randomUUID() }) },
})

const servicePrincipals = objectSet(servicePrincipal, { creation: { complete: describePrincipal } })

export const applicationOperations = [applications, servicePrincipals].flatMap((set) =>
  operationsOn(set, ['list', 'count', 'get', 'create', 'update', 'delete']),
)

/** Adds what a service principal takes over from its application. */
async function describePrincipal(
  { tx, caller: { tenantId } }: EntityContext,
  properties: JsonObject,
): Promise<JsonObject> {
  const appId = String(properties.appId)
  const [found] = await tx<{ properties: JsonObject }[]>`
    select properties from directory_object
    where tenant_id = ${tenantId} and kind = 'application' and app_id = ${appId} and deleted_at is null`
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

function listOf(value: Json | undefined): readonly Json[] {
  return Array.isArray(value) ? value : []
}
