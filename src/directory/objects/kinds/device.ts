import { text } from '../../entities/property.ts'
import { createdDateTime, displayName, objectProperties, type Resource } from './resource.ts'

export const device: Resource = {
  kind: 'device',
  set: 'devices',
  noun: 'Device',
  restorable: false,
  example: {
    displayName: 'Till 3',
    deviceId: '7c2d1f0a-3b54-4f0e-9d16-52a8f3c1b7e4',
    accountEnabled: true,
    operatingSystem: 'Linux',
    operatingSystemVersion: '6.12',
  },
  properties: {
    ...objectProperties,
    accountEnabled: { type: 'boolean', required: true, nullable: false },
    alternativeSecurityIds: {
      type: {
        named: 'alternativeSecurityId',
        objects: { type: { type: 'integer' }, identityProvider: text, key: text },
      },
      default: [],
      maxLength: 10,
    },
    approximateLastSignInDateTime: { type: 'dateTime', write: 'never' },
    complianceExpirationDateTime: { type: 'dateTime', write: 'never' },
    createdDateTime,
    deviceCategory: text,
    deviceId: { type: 'guid', required: true, write: 'creation', index: 'key' },
    deviceMetadata: text,
    deviceOwnership: text,
    deviceVersion: { type: 'integer' },
    displayName,
    enrollmentProfileName: text,
    extensionAttributes: {
      type: {
        named: 'onPremisesExtensionAttributes',
        object: Object.fromEntries(
          Array.from({ length: 15 }, (_, at) => [`extensionAttribute${at + 1}`, text] as const),
        ),
      },
    },
    isCompliant: { type: 'boolean' },
    isManaged: { type: 'boolean' },
    manufacturer: { type: 'string', maxLength: 256 },
    model: { type: 'string', maxLength: 256 },
    onPremisesLastSyncDateTime: { type: 'dateTime', write: 'never' },
    onPremisesSyncEnabled: { type: 'boolean', write: 'never' },
    operatingSystem: { type: 'string', required: true, nullable: false, maxLength: 256 },
    operatingSystemVersion: { type: 'string', required: true, nullable: false, maxLength: 256 },
    physicalIds: { type: 'strings', default: [], maxLength: 50 },
    profileType: text,
    registrationDateTime: { type: 'dateTime', write: 'never' },
    systemLabels: { type: 'strings', default: [], maxLength: 50 },
    trustType: { type: 'string', maxLength: 64 },
  },
}
