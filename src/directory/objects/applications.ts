import { randomUUID } from 'node:crypto'
import type { Caller } from '../../auth/caller.ts'
import type { Query } from '../../db/query.ts'
import { fail } from '../../kernel/problem.ts'
import type { Json, JsonObject } from '../entities/property.ts'
import { createObject } from './create-object.ts'
import { deleteObject } from './delete-object.ts'
import { getObject } from './get-object.ts'
import { application } from './kinds/application.ts'
import { servicePrincipal } from './kinds/service-principal.ts'
import { countObjects, listObjects } from './list-objects.ts'
import { updateObjectOf } from './update-object.ts'

export const applicationOperations = [
  listObjects(application),
  countObjects(application),
  getObject(application),
  createObject(application, {
    complete: async (_tx, _caller, properties) => ({ ...properties, appId: randomUUID() }),
  }),
  updateObjectOf(application),
  deleteObject(application),
]

export const servicePrincipalOperations = [
  listObjects(servicePrincipal),
  countObjects(servicePrincipal),
  getObject(servicePrincipal),
  createObject(servicePrincipal, { complete: describePrincipal }),
  updateObjectOf(servicePrincipal),
  deleteObject(servicePrincipal),
]

/** What a service principal takes over from its application. */
async function describePrincipal(
  tx: Query,
  { tenantId }: Caller,
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
