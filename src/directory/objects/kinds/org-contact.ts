import { type Properties, text } from '../../entities/property.ts'
import { displayName, objectProperties, onPremisesProperties, type Resource } from './resource.ts'

const addressFields: Properties = {
  city: text,
  countryOrRegion: text,
  officeLocation: text,
  postalCode: text,
  state: text,
  street: text,
}

export const orgContact: Resource = {
  kind: 'orgContact',
  set: 'contacts',
  noun: 'Contact',
  restorable: false,
  properties: {
    ...objectProperties,
    addresses: { type: { objects: addressFields }, default: [], maxLength: 10 },
    companyName: { type: 'string', maxLength: 64, filter: true },
    department: { type: 'string', maxLength: 64, filter: true },
    displayName,
    givenName: { type: 'string', maxLength: 64, filter: true },
    jobTitle: { type: 'string', maxLength: 128, filter: true },
    mail: { type: 'string', maxLength: 320, filter: true, sort: true },
    mailNickname: { type: 'string', maxLength: 64, filter: true },
    onPremisesLastSyncDateTime: onPremisesProperties.onPremisesLastSyncDateTime ?? text,
    onPremisesSyncEnabled: onPremisesProperties.onPremisesSyncEnabled ?? text,
    phones: { type: { objects: { number: text, type: text } }, default: [], maxLength: 10 },
    proxyAddresses: { type: 'strings', default: [], maxLength: 250 },
    surname: { type: 'string', maxLength: 64, filter: true },
  },
}
