import { randomUUID } from 'node:crypto'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import { setPassword } from '../../src/directory/accounts/password.ts'
import { noRoleId } from '../../src/directory/app-roles/app-roles.ts'
import { addSecret } from '../../src/directory/applications/application-secret.ts'
import {
  consentPermissions,
  grantApplicationPermissions,
} from '../../src/directory/applications/granted-permissions.ts'
import { type Registration, registerApplication } from '../../src/directory/applications/registrations.ts'
import type { JsonObject } from '../../src/directory/entities/property.ts'
import type { TestService } from './service.ts'

/** From then on this process trusts the service's own CA. */
export function trustService({ listeners }: TestService): void {
  if (!listeners.ca) throw new Error('the service has a certificate of its own')
  setDefaultCACertificates([...getCACertificates('default'), listeners.ca])
}

export interface ApplicationWishes {
  readonly properties?: JsonObject
  readonly permissions?: readonly string[]
  /** Delegated permissions, consented for all users. */
  readonly consented?: readonly string[]
}

export async function addApplication(
  { database, tenantId }: TestService,
  { properties = {}, permissions = [], consented = [] }: ApplicationWishes = {},
): Promise<Registration & { secret: string }> {
  return database.transaction(async (tx) => {
    const registration = await registerApplication(tx, tenantId, {
      displayName: `Application ${randomUUID().slice(0, 8)}`,
      properties,
    })
    const { servicePrincipalId, applicationId } = registration
    await grantApplicationPermissions(tx, tenantId, servicePrincipalId, permissions)
    await consentPermissions(tx, { tenantId, servicePrincipalId, userId: null, permissions: consented })
    const { secretText } = await addSecret(tx, tenantId, applicationId)
    return { ...registration, secret: secretText }
  })
}

/** From then on the client admits assigned people alone. */
export async function requireAssignments(
  { database: { sql }, tenantId }: TestService,
  servicePrincipalId: string,
): Promise<void> {
  const required = { appRoleAssignmentRequired: true }
  await sql`
    update directory_object set properties = properties || ${sql.json(required)}
    where tenant_id = ${tenantId} and id = ${servicePrincipalId}`
}

export async function addAssignment(
  { database: { sql }, tenantId }: TestService,
  principalId: string,
  resourceId: string,
): Promise<void> {
  await sql`
    insert into app_role_assignment (tenant_id, principal_id, resource_id, app_role_id)
    values (${tenantId}, ${principalId}, ${resourceId}, ${noRoleId})`
}

export interface Person {
  readonly id: string
  readonly userPrincipalName: string
  readonly password: string
}

export async function addPerson(
  { database, tenantId }: TestService,
  properties: Readonly<Record<string, unknown>> = {},
  mustChange = false,
): Promise<Person> {
  const id = randomUUID()
  const userPrincipalName = `person-${id.slice(0, 8)}@example.com`
  const password = `Long enough ${randomUUID()}`
  await database.transaction(async (tx) => {
    const all = { displayName: 'Ada Example', userPrincipalName, accountEnabled: true, ...properties }
    await tx`
      insert into directory_object (tenant_id, id, kind, properties)
      values (${tenantId}, ${id}, 'user', ${tx.json({ ...all, accountEnabled: true })})`
    await setPassword(tx, tenantId, id, password, { mustChange })
    await tx`update directory_object set properties = ${tx.json(all)} where tenant_id = ${tenantId} and id = ${id}`
  })
  return { id, userPrincipalName, password }
}

export function claimsOf(token: string): Record<string, unknown> {
  return JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString())
}
