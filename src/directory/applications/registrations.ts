import { randomUUID } from 'node:crypto'
import { appendChanges } from '../../db/change-log.ts'
import type { Query } from '../../db/query.ts'
import { foldDisplayName } from '../../kernel/fold-display-name.ts'
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

interface RegistrationRow {
  readonly app_id: string
  readonly display_name: string | null
  readonly application_id: string
  readonly principal_id: string
}

export async function listRegistrations(sql: Query, tenantId: string): Promise<Registration[]> {
  const rows = await sql<RegistrationRow[]>`
    select application.app_id, application.display_name, application.id as application_id,
      principal.id as principal_id
    from directory_object application
    join directory_object principal on principal.tenant_id = application.tenant_id
      and principal.kind = 'servicePrincipal' and principal.app_id = application.app_id
      and principal.deleted_at is null
    where application.tenant_id = ${tenantId} and application.kind = 'application'
      and application.deleted_at is null
    order by lower(application.display_name), application.app_id`
  return rows.map((row) => ({
    appId: row.app_id,
    displayName: row.display_name ?? row.app_id,
    applicationId: row.application_id,
    servicePrincipalId: row.principal_id,
  }))
}

/**
 * By client id, object id or unambiguous name. A UUID is an id alone (DIR-350): a person who may register applications could
 * name one like the id of a deleted one.
 */
export async function findRegistration(sql: Query, tenantId: string, sent: string): Promise<Registration> {
  const word = trimDisplayName(sent)
  const all = await listRegistrations(sql, tenantId)
  const byId = all.find(({ appId, applicationId, servicePrincipalId }) =>
    [appId, applicationId, servicePrincipalId].includes(word.toLowerCase()),
  )
  if (byId) return byId
  if (isUuid(word)) fail('ObjectNotFound', { id: word })
  const wanted = foldDisplayName(word)
  const named = all.filter(({ displayName }) => foldDisplayName(displayName) === wanted)
  const [only] = named
  return named.length === 1 && only ? only : fail('ObjectNotFound', { id: word })
}
