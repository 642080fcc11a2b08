import {
  type Described,
  isNotBlank,
  type Properties,
  type Property,
  readOnlyText,
} from '../../entities/property.ts'
import { showTime } from '../../entities/read-value.ts'

export type ObjectKind =
  | 'user'
  | 'group'
  | 'servicePrincipal'
  | 'application'
  | 'orgContact'
  | 'device'
  | 'directoryRole'
  | 'organization'

export interface Resource extends Described {
  readonly kind: ObjectKind
  /** The entity set: the first segment of paths, and the name in `@odata.context`. */
  readonly set: string
  /** Deleted objects of the kind go to deletedItems and can be restored. */
  readonly restorable: boolean
}

/** The properties that every directory object has, whatever its kind. */
export const objectProperties = {
  id: { type: 'guid', write: 'never', column: 'id', derive: ({ id }) => id },
  deletedDateTime: {
    type: 'dateTime',
    write: 'never',
    column: 'deleted_at',
    derive: ({ deletedAt }) => showTime(deletedAt),
  },
} as const satisfies Properties

export const createdDateTime: Property = {
  type: 'dateTime',
  write: 'never',
  index: 'order',
  column: 'created_at',
  derive: ({ createdAt }) => showTime(createdAt),
}

export const optionalDisplayName: Property = {
  type: 'string',
  nullable: false,
  maxLength: 256,
  index: 'order',
  accepts: isNotBlank,
}

export const displayName: Property = { ...optionalDisplayName, required: true }

/** Marks properties as shown only where `$select` names them. */
export function onlyBySelect(properties: Properties): Properties {
  return Object.fromEntries(
    Object.entries(properties).map(([name, property]) => [
      name,
      { ...property, onlyBySelect: true as const },
    ]),
  )
}

/** Properties that a synchronisation from another directory would set. */
export const onPremisesProperties: Properties = {
  onPremisesLastSyncDateTime: { type: 'dateTime', write: 'never' },
  onPremisesSyncEnabled: { type: 'boolean', write: 'never' },
  onPremisesDomainName: readOnlyText,
  onPremisesSamAccountName: readOnlyText,
  onPremisesSecurityIdentifier: readOnlyText,
  onPremisesProvisioningErrors: { type: 'json', write: 'never', default: [] },
}

/** The id in the form of a security identifier: its four 32-bit parts, as a GUID lies in memory. */
export const securityIdentifier: Property = {
  ...readOnlyText,
  derive({ id }) {
    const bytes = Buffer.from(id.replaceAll('-', ''), 'hex')
    bytes.subarray(0, 4).reverse()
    bytes.subarray(4, 6).reverse()
    bytes.subarray(6, 8).reverse()
    return `S-1-12-1-${[0, 4, 8, 12].map((at) => bytes.readUInt32LE(at)).join('-')}`
  },
}
