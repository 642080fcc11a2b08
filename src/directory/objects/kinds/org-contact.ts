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
  example: { displayName: 'Harbour master', mail: 'harbour@port.example', companyName: 'North Pier' },
  properties: {
    ...objectProperties,
    addresses: {
      type: { named: 'physicalOfficeAddress', objects: addressFields },
      default: [],
      maxLength: 10,
    },
    companyName: { type: 'string', maxLength: 64, index: 'order' },
    department: { type: 'string', maxLength: 64, index: 'order' },
    displayName,
    givenName: { type: 'string', maxLength: 64, index: 'order' },
    jobTitle: { type: 'string', maxLength: 128, index: 'order' },
    mail: { type: 'string', maxLength: 320, index: 'suffix' },
    mailNickname: { type: 'string', maxLength: 64, index: 'order' },
    onPremisesLastSyncDateTime: onPremisesProperties.onPremisesLastSyncDateTime ?? text,
    onPremisesSyncEnabled: onPremisesProperties.onPremisesSyncEnabled ?? text,
    phones: {
      type: { named: 'phone', objects: { number: text, type: text } },
      default: [],
      maxLength: 10,
    },
    proxyAddresses: { type: 'strings', default: [], maxLength: 250, index: 'elements' },
    surname: { type: 'string', maxLength: 64, index: 'order' },
  },
}
