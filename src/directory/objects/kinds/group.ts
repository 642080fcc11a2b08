import { isUuid } from '../../../kernel/uuid.ts'
import { flag, type Json, oneOf, type Properties } from '../../entities/property.ts'
import { showTime } from '../../entities/read-value.ts'
import { isJsonObject } from '../../entities/storable.ts'
import {
  createdDateTime,
  displayName,
  objectProperties,
  onlyBySelect,
  onPremisesProperties,
  type Resource,
  securityIdentifier,
} from './resource.ts'

// biome-ignore lint/suspicious/noControlCharactersInRegex: the rule is about all of ASCII
const mailNicknameForm = /^[\x00-\x7f]+$/
const mailNicknameExcludes = /[@()\\[\]";:.<>, ]/

const standAlone = { type: 'boolean', nullable: false, write: 'elsewhere' } as const

/** Each must come in a PATCH of its own, which answers 200 with the group. */
export const standAloneProperties = {
  allowExternalSenders: { ...standAlone, default: false },
  autoSubscribeNewMembers: { ...standAlone, default: false },
  hideFromAddressLists: { ...standAlone, default: false },
  hideFromOutlookClients: { ...standAlone, default: false },
  isSubscribedByMail: { ...standAlone, default: true },
  unseenCount: { ...standAlone, type: 'integer', default: 0, accepts: (value) => Number(value) >= 0 },
} as const satisfies Properties

export const group: Resource = {
  kind: 'group',
  set: 'groups',
  noun: 'Group',
  restorable: true,
  example: {
    displayName: 'Ticket office',
    mailNickname: 'tickets',
    mailEnabled: false,
    securityEnabled: true,
    description: 'Sells and refunds tickets.',
  },
  properties: {
    ...objectProperties,
    classification: { type: 'string', maxLength: 128 },
    createdDateTime,
    creationOptions: { type: 'strings', write: 'never', default: [] },
    description: { type: 'string', maxLength: 1024 },
    displayName,
    expirationDateTime: { type: 'dateTime', write: 'never' },
    groupTypes: {
      type: 'strings',
      isSet: true,
      default: [],
      nullable: false,
      maxLength: 5,
      accepts: oneOf('Unified', 'DynamicMembership'),
    },
    isAssignableToRole: { type: 'boolean', write: 'creation' },
    mail: { type: 'string', write: 'never', index: 'suffix' },
    mailEnabled: { type: 'boolean', required: true, nullable: false },
    mailNickname: {
      index: 'order',
      type: 'string',
      required: true,
      nullable: false,
      maxLength: 64,
      accepts: isMailNickname,
    },
    membershipRule: { type: 'string', maxLength: 3072 },
    membershipRuleProcessingState: { type: 'string', accepts: oneOf('On', 'Paused') },
    ...onPremisesProperties,
    preferredDataLocation: { type: 'string', maxLength: 64 },
    preferredLanguage: { type: 'string', maxLength: 64 },
    proxyAddresses: { type: 'strings', write: 'never', default: [], index: 'elements' },
    renewedDateTime: {
      type: 'dateTime',
      write: 'never',
      column: 'created_at',
      derive: ({ properties, createdAt }) => properties.renewedDateTime ?? showTime(createdAt),
    },
    resourceBehaviorOptions: { type: 'strings', write: 'creation', default: [] },
    resourceProvisioningOptions: { type: 'strings', default: [] },
    securityEnabled: {
      type: 'boolean',
      required: true,
      nullable: false,
      column: 'security_enabled',
    },
    securityIdentifier,
    theme: { type: 'string', maxLength: 64 },
    uniqueName: { type: 'string', maxLength: 256, write: 'creation', index: 'order' },
    visibility: { type: 'string', accepts: oneOf('', 'Private', 'Public') },
    ...onlyBySelect({
      assignedLabels: {
        type: {
          named: 'assignedLabel',
          objects: {
            labelId: { type: 'string', maxLength: 64 },
            displayName: { type: 'string', maxLength: 256 },
          },
        },
        default: [],
        accepts: isLabel,
      },
      ...standAloneProperties,
      subscriptionEnabled: { type: 'boolean', default: true, nullable: false },
      hasMembersWithLicenseErrors: { ...flag, write: 'never' },
      isArchived: { ...flag, write: 'never' },
    }),
  },
}

function isMailNickname(value: Json): boolean {
  return typeof value === 'string' && mailNicknameForm.test(value) && !mailNicknameExcludes.test(value)
}

function isLabel(value: Json): boolean {
  return isJsonObject(value) && typeof value.labelId === 'string' && isUuid(value.labelId)
}
