import { isUuid } from '../../../kernel/uuid.ts'
import { flag, type Json, type Properties } from '../../entities/property.ts'
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

/** Each must come in a PATCH of its own, which answers 200 with the group. */
export const standAloneProperties = {
  allowExternalSenders: { type: 'boolean', default: false, nullable: false, write: 'elsewhere' },
  autoSubscribeNewMembers: { type: 'boolean', default: false, nullable: false, write: 'elsewhere' },
  hideFromAddressLists: { type: 'boolean', default: false, nullable: false, write: 'elsewhere' },
  hideFromOutlookClients: { type: 'boolean', default: false, nullable: false, write: 'elsewhere' },
  isSubscribedByMail: { type: 'boolean', default: true, nullable: false, write: 'elsewhere' },
  unseenCount: {
    type: 'integer',
    default: 0,
    nullable: false,
    write: 'elsewhere',
    accepts: (value) => Number(value) >= 0,
  },
} as const satisfies Properties

export const group: Resource = {
  kind: 'group',
  set: 'groups',
  noun: 'Group',
  restorable: true,
  properties: {
    ...objectProperties,
    classification: { type: 'string', maxLength: 128 },
    createdDateTime,
    creationOptions: { type: 'strings', write: 'never', default: [] },
    description: { type: 'string', maxLength: 1024, filter: true },
    displayName,
    expirationDateTime: { type: 'dateTime', write: 'never' },
    groupTypes: {
      type: 'strings',
      default: [],
      nullable: false,
      filter: true,
      maxLength: 5,
      accepts: (value) => value === 'Unified' || value === 'DynamicMembership',
    },
    isAssignableToRole: { type: 'boolean', write: 'creation', filter: true },
    mail: { type: 'string', write: 'never', filter: true, sort: true },
    mailEnabled: { type: 'boolean', required: true, nullable: false, filter: true },
    mailNickname: {
      type: 'string',
      required: true,
      nullable: false,
      maxLength: 64,
      filter: true,
      accepts: isMailNickname,
    },
    membershipRule: { type: 'string', maxLength: 3072 },
    membershipRuleProcessingState: {
      type: 'string',
      accepts: (value) => value === 'On' || value === 'Paused',
    },
    ...onPremisesProperties,
    preferredDataLocation: { type: 'string', maxLength: 64 },
    preferredLanguage: { type: 'string', maxLength: 64 },
    proxyAddresses: { type: 'strings', write: 'never', default: [] },
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
      filter: true,
      column: 'security_enabled',
    },
    securityIdentifier,
    theme: { type: 'string', maxLength: 64 },
    uniqueName: { type: 'string', maxLength: 256, write: 'creation', filter: true },
    visibility: {
      type: 'string',
      accepts: (value) => value === '' || value === 'Private' || value === 'Public',
    },
    ...onlyBySelect({
      assignedLabels: {
        type: {
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
