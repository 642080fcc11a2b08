import { randomUUID } from 'node:crypto'
import { appendChanges } from '../../db/change-log.ts'
import type { Query } from '../../db/query.ts'
import { foldDisplayName } from '../../kernel/fold-display-name.ts'
import { OperatorError } from '../../kernel/operator-error.ts'
import { fail } from '../../kernel/problem.ts'
import { trimDisplayName } from '../../kernel/trim-display-name.ts'
import { isUuid } from '../../kernel/uuid.ts'
import type { JsonObject } from '../entities/property.ts'

export interface Registration {
  readonly appId: string
  readonly displayName: string
  /** Object id of the application. */
  readonly applicationId: string
  /** Object id of its service principal, which is what permissions are granted to. */
  readonly servicePrincipalId: string
}

export interface RegistrationWishes {
  readonly displayName: string
  readonly appId?: string
  /** Further properties of the application object: redirect URIs, whether it is a public client. */
  readonly properties?: JsonObject
}

/** Creates an application and its service principal. */
export async function registerApplication(
  tx: Query,
  tenantId: string,
  { displayName, appId = randomUUID(), properties = {} }: RegistrationWishes,
): Promise<Registration> {
  const registration = {
    appId,
    displayName,
    applicationId: randomUUID(),
    servicePrincipalId: randomUUID(),
  }
  const { application, principal } = describeRegistration(tenantId, { displayName, appId, properties })
  await tx`
    insert into directory_object (tenant_id, id, kind, properties) values
      (${tenantId}, ${registration.applicationId}, 'application', ${tx.json(application)}),
      (${tenantId}, ${registration.servicePrincipalId}, 'servicePrincipal', ${tx.json(principal)})`
  const created = { kind: 'created', data: { version: 1 } }
  await appendChanges(tx, tenantId, [
    { entity: 'application', entityId: registration.applicationId, ...created },
    { entity: 'servicePrincipal', entityId: registration.servicePrincipalId, ...created },
  ])
  return registration
}

/** The properties of an application and of its service principal. */
export function describeRegistration(
  tenantId: string,
  { appId, displayName, properties = {} }: RegistrationWishes & { readonly appId: string },
): { application: JsonObject; principal: JsonObject } {
  return {
    application: { ...properties, appId, displayName },
    principal: {
      appId,
      displayName,
      appDisplayName: displayName,
      appOwnerOrganizationId: tenantId,
      servicePrincipalNames: [appId],
    },
  }
}

/** An application of the directory, which need not have a service principal. */
export interface RegisteredApplication extends Omit<Registration, 'servicePrincipalId'> {
  readonly servicePrincipalId: string | null
  /** The displayName of the service principal: callers may give it another one than the application has. */
  readonly principalName: string | null
}

/** Every application that is not deleted. */
export async function listRegistrations(sql: Query, tenantId: string): Promise<RegisteredApplication[]> {
  return await sql<RegisteredApplication[]>`
    select application.app_id as "appId", coalesce(application.display_name, application.app_id) as "displayName",
      application.id as "applicationId", principal.id as "servicePrincipalId",
      principal.display_name as "principalName"
    from directory_object application
    left join directory_object principal on principal.tenant_id = application.tenant_id
      and principal.kind = 'servicePrincipal' and principal.app_id = application.app_id
      and principal.deleted_at is null
    where application.tenant_id = ${tenantId} and application.kind = 'application'
      and application.deleted_at is null
    order by lower(application.display_name), application.app_id`
}

/**
 * By client id, object id or unambiguous name. A UUID is an id alone (DIR-350): a person who may register applications could
 * name one like the id of a deleted one. A name counts all applications (DIR-376): any person may register a namesake, and
 * the one that is meant need not have a service principal yet.
 */
export async function findRegistration(
  sql: Query,
  tenantId: string,
  sent: string,
): Promise<RegisteredApplication> {
  const word = trimDisplayName(sent)
  const all = await listRegistrations(sql, tenantId)
  const byId = all.find(({ appId, applicationId, servicePrincipalId }) =>
    [appId, applicationId, servicePrincipalId].includes(word.toLowerCase()),
  )
  if (byId) return byId
  if (isUuid(word)) fail('ObjectNotFound', { id: word })
  const wanted = foldDisplayName(word)
  const [only, ...others] = all.filter(({ displayName, principalName }) =>
    [displayName, principalName ?? displayName].some((name) => foldDisplayName(name) === wanted),
  )
  if (!only) return fail('ObjectNotFound', { id: word })
  if (others.length === 0) return only
  const appIds = [only, ...others].map(({ appId }) => appId).join(', ')
  throw new OperatorError(
    `Several applications are called '${word.slice(0, 200)}'. Name one by its appId: ${appIds}.`,
  )
}
