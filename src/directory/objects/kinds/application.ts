import { oneOf, type Properties, type Property, readOnlyText, text } from '../../entities/property.ts'
import { createdDateTime, displayName, objectProperties, type Resource } from './resource.ts'

const urls = { type: 'strings', default: [], maxLength: 256 } as const

const roleFields: Properties = {
  id: { type: 'guid' },
  allowedMemberTypes: { type: 'strings' },
  description: text,
  displayName: text,
  isEnabled: { type: 'boolean' },
  origin: text,
  value: text,
}

const scopeFields: Properties = {
  id: { type: 'guid' },
  adminConsentDescription: text,
  adminConsentDisplayName: text,
  isEnabled: { type: 'boolean' },
  type: text,
  userConsentDescription: text,
  userConsentDisplayName: text,
  value: text,
}

/** A credential as it is shown, without its secret. Operations of their own add and remove credentials. */
export const credentialFields: Properties = {
  keyId: { type: 'guid' },
  displayName: text,
  startDateTime: { type: 'dateTime' },
  endDateTime: { type: 'dateTime' },
  hint: text,
}

export const passwordCredentials: Property = {
  type: { named: 'passwordCredential', objects: credentialFields },
  write: 'never',
  default: [],
}

/** A certificate: `key` is the certificate itself, which holds nothing secret. */
const { hint: _hint, ...shared } = credentialFields
const keyFields: Properties = {
  ...shared,
  customKeyIdentifier: text,
  key: { type: 'string', maxLength: 16_384 },
  type: text,
  usage: text,
}

export const application: Resource = {
  kind: 'application',
  set: 'applications',
  noun: 'Application',
  restorable: true,
  example: {
    displayName: 'Tide Tables',
    description: 'Publishes the timetable of the ferries.',
    spa: { redirectUris: ['https://tides.example/'] },
  },
  properties: {
    ...objectProperties,
    appId: { type: 'guid', write: 'never', index: 'key' },
    createdDateTime,
    displayName,
    description: { type: 'string', maxLength: 1024 },
    identifierUris: { type: 'strings', default: [], maxLength: 50 },
    isFallbackPublicClient: { type: 'boolean' },
    notes: { type: 'string', maxLength: 1024 },
    publisherDomain: readOnlyText,
    signInAudience: {
      type: 'string',
      default: 'AzureADMyOrg',
      accepts: oneOf(
        'AzureADMyOrg',
        'AzureADMultipleOrgs',
        'AzureADandPersonalMicrosoftAccount',
        'PersonalMicrosoftAccount',
      ),
    },
    tags: { type: 'strings', default: [], maxLength: 100 },
    uniqueName: { type: 'string', maxLength: 256, write: 'creation', index: 'order' },
    web: {
      type: {
        named: 'webApplication',
        object: {
          homePageUrl: text,
          logoutUrl: text,
          redirectUris: urls,
          implicitGrantSettings: {
            type: {
              named: 'implicitGrantSettings',
              object: {
                enableAccessTokenIssuance: { type: 'boolean' },
                enableIdTokenIssuance: { type: 'boolean' },
              },
            },
          },
        },
      },
    },
    spa: { type: { named: 'spaApplication', object: { redirectUris: urls } } },
    publicClient: { type: { named: 'publicClientApplication', object: { redirectUris: urls } } },
    api: {
      type: {
        named: 'apiApplication',
        object: {
          acceptMappedClaims: { type: 'boolean' },
          knownClientApplications: { type: 'guids' },
          oauth2PermissionScopes: { type: { named: 'permissionScope', objects: scopeFields } },
          preAuthorizedApplications: {
            type: {
              named: 'preAuthorizedApplication',
              objects: { appId: { type: 'guid' }, delegatedPermissionIds: { type: 'guids' } },
            },
          },
          requestedAccessTokenVersion: { type: 'integer' },
        },
      },
    },
    appRoles: { type: { named: 'appRole', objects: roleFields }, default: [] },
    requiredResourceAccess: {
      type: {
        named: 'requiredResourceAccess',
        objects: {
          resourceAppId: text,
          resourceAccess: {
            type: { named: 'resourceAccess', objects: { id: { type: 'guid' }, type: text } },
          },
        },
      },
      default: [],
    },
    passwordCredentials,
    keyCredentials: { type: { named: 'keyCredential', objects: keyFields }, guarded: true, default: [] },
  },
}
