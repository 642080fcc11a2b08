import { text } from '../../entities/property.ts'
import { application, credentialFields, passwordCredentials } from './application.ts'
import { createdDateTime, objectProperties, optionalDisplayName, type Resource } from './resource.ts'

export const servicePrincipal: Resource = {
  kind: 'servicePrincipal',
  set: 'servicePrincipals',
  noun: 'ServicePrincipal',
  restorable: true,
  example: { appId: 'a0000000-0000-4000-8000-000000000101', displayName: 'Tide Tables' },
  properties: {
    ...objectProperties,
    accountEnabled: { type: 'boolean', default: true, nullable: false },
    alternativeNames: { type: 'strings', default: [], maxLength: 50 },
    appDescription: { type: 'string', write: 'never' },
    appDisplayName: { type: 'string', write: 'never' },
    appId: { type: 'guid', required: true, write: 'creation', index: 'key' },
    appOwnerOrganizationId: { type: 'guid', write: 'never' },
    appRoleAssignmentRequired: { type: 'boolean', default: false, nullable: false },
    createdDateTime,
    description: { type: 'string', maxLength: 1024 },
    // The application's name, unless the body has one.
    displayName: optionalDisplayName,
    homepage: text,
    loginUrl: text,
    logoutUrl: text,
    notes: { type: 'string', maxLength: 1024 },
    notificationEmailAddresses: { type: 'strings', default: [], maxLength: 50 },
    preferredSingleSignOnMode: text,
    replyUrls: { type: 'strings', default: [], maxLength: 256 },
    servicePrincipalNames: { type: 'strings', default: [], maxLength: 50 },
    servicePrincipalType: { type: 'string', write: 'never', default: 'Application' },
    signInAudience: { type: 'string', write: 'never' },
    tags: { type: 'strings', default: [], maxLength: 100 },
    appRoles: { type: application.properties.appRoles?.type ?? 'json', write: 'never', default: [] },
    passwordCredentials,
    keyCredentials: {
      type: { named: 'keyCredential', objects: credentialFields },
      write: 'never',
      default: [],
    },
  },
}
