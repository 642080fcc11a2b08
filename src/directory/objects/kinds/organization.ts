import { type Properties, text } from '../../entities/property.ts'
import {
  createdDateTime,
  displayName,
  objectProperties,
  onPremisesProperties,
  type Resource,
} from './resource.ts'

const domainFields: Properties = {
  capabilities: text,
  isDefault: { type: 'boolean' },
  isInitial: { type: 'boolean' },
  name: text,
  type: text,
}

/** A tenant has one organization, and its id is the tenant's. */
export const organization: Resource = {
  kind: 'organization',
  set: 'organization',
  noun: 'Organization',
  restorable: false,
  example: { displayName: 'Lantern Bay Ferries', city: 'Lantern Bay' },
  properties: {
    ...objectProperties,
    businessPhones: { type: 'strings', default: [], maxLength: 1 },
    city: text,
    country: text,
    countryLetterCode: { type: 'string', maxLength: 2 },
    createdDateTime,
    displayName: { ...displayName, write: 'never' },
    marketingNotificationEmails: { type: 'strings', default: [], maxLength: 100 },
    onPremisesLastSyncDateTime: onPremisesProperties.onPremisesLastSyncDateTime ?? text,
    onPremisesSyncEnabled: onPremisesProperties.onPremisesSyncEnabled ?? text,
    postalCode: text,
    preferredLanguage: { type: 'string', maxLength: 64 },
    privacyProfile: {
      type: { named: 'privacyProfile', object: { contactEmail: text, statementUrl: text } },
    },
    securityComplianceNotificationMails: { type: 'strings', default: [], maxLength: 100 },
    securityComplianceNotificationPhones: { type: 'strings', default: [], maxLength: 100 },
    state: text,
    street: text,
    technicalNotificationMails: { type: 'strings', default: [], maxLength: 100 },
    tenantType: { type: 'string', write: 'never', default: 'AAD' },
    verifiedDomains: {
      type: { named: 'verifiedDomain', objects: domainFields },
      write: 'never',
      default: [],
    },
  },
}
