import { directoryPath, type Listed, listPath, type Named, objectQuery, quoteText } from './directory.ts'

export interface Credential {
  readonly keyId: string
  readonly displayName: string | null
  readonly hint: string | null
  readonly startDateTime: string | null
  readonly endDateTime: string | null
}

export interface Application extends Named {
  readonly appId: string
  readonly createdDateTime: string | null
  readonly passwordCredentials: readonly Credential[]
  readonly web: { readonly redirectUris?: readonly string[] } | null
  readonly spa: { readonly redirectUris?: readonly string[] } | null
  readonly publicClient: { readonly redirectUris?: readonly string[] } | null
}

export interface AppRole {
  readonly id: string
  readonly value: string | null
  readonly displayName: string | null
}

export interface ServicePrincipal extends Named {
  readonly appId: string
  readonly appRoles: readonly AppRole[]
}

export interface AppRoleAssignment {
  readonly id: string
  readonly appRoleId: string
  readonly resourceId: string
  readonly resourceDisplayName?: string | null
  readonly createdDateTime: string | null
}

export interface PermissionGrant {
  readonly id: string
  readonly clientId: string
  readonly consentType: 'AllPrincipals' | 'Principal'
  readonly principalId: string | null
  readonly scope: string
}

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

const fields = 'id,appId,displayName,description,createdDateTime,passwordCredentials,web,spa,publicClient'

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
      $select: 'id,appId,displayName,description,appRoles',
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
