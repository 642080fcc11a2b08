import type { Schema, Selected } from './described.ts'
import { directoryPath, type Listed, listPath, objectQuery, quoteText } from './directory.ts'

const properties = [
  'id',
  'appId',
  'displayName',
  'description',
  'createdDateTime',
  'passwordCredentials',
  'web',
  'spa',
  'publicClient',
] as const

export type Application = Selected<'application', (typeof properties)[number], 'appId'>
export type Credential = Application['passwordCredentials'][number]

const principalProperties = ['id', 'appId', 'displayName', 'description', 'appRoles'] as const

export type ServicePrincipal = Selected<'servicePrincipal', (typeof principalProperties)[number], 'appId'>
export type AppRole = ServicePrincipal['appRoles'][number]
export type AppRoleAssignment = Selected<
  'appRoleAssignment',
  'id' | 'appRoleId' | 'resourceId' | 'resourceDisplayName' | 'createdDateTime',
  'appRoleId' | 'resourceId'
>
export type PermissionGrant = Schema<'oAuth2PermissionGrant'>

/** The API itself: its roles are the permissions that can be granted. */
const apiAppId = '00000003-0000-0000-c000-000000000000'
/** Applications of the product, which nothing changes. */
const ownAppIds = new Set([
  apiAppId,
  '0d5c3c9a-6a1f-4b0e-9d57-3f7a2c1e8b64',
  '5b8e0f27-92d4-4c63-8a0b-e14d6f9c7a35',
])

export function isOwn(appId: string): boolean {
  return ownAppIds.has(appId)
}

const fields = properties.join()

const listed = { path: '/applications', kind: 'application', select: fields, searched: ['displayName'] }

export function applicationsPath(filter: Parameters<typeof listPath>[1]): string {
  return listPath(listed, filter)
}

export function applicationQuery(appId: string) {
  return objectQuery<Listed<Application>>(
    directoryPath('/applications', { $select: fields, $filter: `appId eq ${quoteText(appId)}` }),
  )
}

export function servicePrincipalQuery(appId: string) {
  return objectQuery<Listed<ServicePrincipal>>(
    directoryPath('/servicePrincipals', {
      $select: principalProperties.join(),
      $filter: `appId eq ${quoteText(appId)}`,
    }),
  )
}

export const apiQuery = servicePrincipalQuery(apiAppId)

export function grantsQuery(principalId: string) {
  return objectQuery<Listed<PermissionGrant>>(
    directoryPath(`/servicePrincipals/${principalId}/oauth2PermissionGrants`, {}),
  )
}

export function assignmentsQuery(principalId: string) {
  return objectQuery<Listed<AppRoleAssignment>>(
    directoryPath(`/servicePrincipals/${principalId}/appRoleAssignments`, {}),
  )
}
