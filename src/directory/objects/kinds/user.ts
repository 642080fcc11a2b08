import { flag, oneOf, readOnlyText, text } from '../../entities/property.ts'
import {
  createdDateTime,
  displayName,
  objectProperties,
  onlyBySelect,
  onPremisesProperties,
  type Resource,
  securityIdentifier,
} from './resource.ts'

/**
 * The form that names are looked up by. It takes characters that `newPrincipalNameForm` refuses: accounts from before that
 * rule have them.
 */
export const principalNameForm =
  /^(?:(?![@()\\[\]";:<>,])[\x21-\x7e]){1,64}@[A-Za-z0-9](?:[A-Za-z0-9.-]{0,250}[A-Za-z0-9])?$/

/**
 * The characters of the original, and no others: exempt lists split at `;` and take `name/database` for a login role, and
 * a letter beyond ASCII could look like another.
 */
const newPrincipalNameForm = /^[A-Za-z0-9'._!#^~-]{1,64}@[A-Za-z0-9](?:[A-Za-z0-9.-]{0,250}[A-Za-z0-9])?$/

export const user: Resource = {
  kind: 'user',
  set: 'users',
  noun: 'User',
  restorable: true,
  isVeiled: true,
  example: {
    displayName: 'Maren Okafor',
    userPrincipalName: 'maren@ferries.example',
    mailNickname: 'maren',
    accountEnabled: true,
    jobTitle: 'Managing director',
    passwordProfile: { password: 'a-Long-1st-passphrase', forceChangePasswordNextSignIn: true },
  },
  properties: {
    businessPhones: { type: 'strings', default: [], maxLength: 1 },
    displayName,
    givenName: { type: 'string', maxLength: 64, index: 'order' },
    jobTitle: { type: 'string', maxLength: 128, index: 'order' },
    mail: { type: 'string', maxLength: 320, index: 'suffix' },
    mobilePhone: { type: 'string', maxLength: 64 },
    officeLocation: { type: 'string', maxLength: 128 },
    preferredLanguage: { type: 'string', maxLength: 64 },
    surname: { type: 'string', maxLength: 64, index: 'order' },
    userPrincipalName: {
      index: 'suffix',
      type: 'string',
      required: true,
      nullable: false,
      maxLength: 320,
      accepts: (value) => newPrincipalNameForm.test(String(value)),
    },
    id: objectProperties.id,
    ...onlyBySelect({
      deletedDateTime: objectProperties.deletedDateTime,
      createdDateTime,
      accountEnabled: { type: 'boolean', required: true, nullable: false, index: 'key' },
      mailNickname: { type: 'string', required: true, nullable: false, maxLength: 64, index: 'order' },
      passwordProfile: {
        type: {
          named: 'passwordProfile',
          object: {
            password: { type: 'string', maxLength: 256 },
            forceChangePasswordNextSignIn: flag,
            forceChangePasswordNextSignInWithMfa: flag,
          },
        },
        required: true,
        nullable: false,
        secret: true,
      },
      aboutMe: text,
      ageGroup: { type: 'string', accepts: oneOf('Minor', 'NotAdult', 'Adult') },
      city: { type: 'string', maxLength: 128, index: 'order' },
      companyName: { type: 'string', maxLength: 64, index: 'order' },
      consentProvidedForMinor: { type: 'string', accepts: oneOf('Granted', 'Denied', 'NotRequired') },
      country: { type: 'string', maxLength: 128, index: 'order' },
      creationType: readOnlyText,
      department: { type: 'string', maxLength: 64, index: 'order' },
      employeeHireDate: { type: 'dateTime' },
      employeeId: { type: 'string', maxLength: 16, index: 'order' },
      employeeLeaveDateTime: { type: 'dateTime' },
      employeeType: { type: 'string', maxLength: 64 },
      externalUserState: readOnlyText,
      faxNumber: { type: 'string', maxLength: 64 },
      identities: {
        type: {
          named: 'objectIdentity',
          objects: { signInType: text, issuer: text, issuerAssignedId: text },
        },
        default: [],
      },
      imAddresses: { type: 'strings', write: 'never', default: [] },
      lastPasswordChangeDateTime: { type: 'dateTime', write: 'never' },
      legalAgeGroupClassification: readOnlyText,
      onPremisesImmutableId: { type: 'string', maxLength: 256, index: 'order' },
      ...onPremisesProperties,
      otherMails: { type: 'strings', default: [], maxLength: 250, index: 'elements' },
      passwordPolicies: { type: 'string', maxLength: 256 },
      postalCode: { type: 'string', maxLength: 40 },
      preferredDataLocation: { type: 'string', maxLength: 64 },
      proxyAddresses: { type: 'strings', write: 'never', default: [], index: 'elements' },
      securityIdentifier,
      showInAddressList: flag,
      state: { type: 'string', maxLength: 128 },
      streetAddress: { type: 'string', maxLength: 1024 },
      usageLocation: {
        type: 'string',
        accepts: (value) => typeof value === 'string' && /^[A-Z]{2}$/i.test(value),
      },
      userType: { type: 'string', default: 'Member', accepts: oneOf('Member', 'Guest'), index: 'order' },
    }),
  },
}
