import type { Kind } from './kind.ts'

/** Problems that only the directory API reports. */
export const directoryProblems = {
  // what the directory says
  ObjectNotFound: {
    status: 404,
    code: 'Request_ResourceNotFound',
    message:
      "Resource '{id}' does not exist or one of its queried reference-property objects are not present.",
  },
  InvalidObjectIdentifier: {
    status: 400,
    code: 'Request_BadRequest',
    message: "Invalid object identifier '{id}'.",
  },
  InvalidProperty: {
    status: 400,
    code: 'Request_BadRequest',
    message: "Invalid property '{property}'.",
  },
  InvalidPropertyValue: {
    status: 400,
    code: 'Request_BadRequest',
    message: "Invalid value specified for property '{property}' of resource '{resource}'.",
  },
  ReadOnlyProperty: {
    status: 400,
    code: 'Request_BadRequest',
    message: "Property '{property}' is read-only and cannot be set.",
  },
  PropertyRequired: {
    status: 400,
    code: 'Request_BadRequest',
    message: "A value is required for property '{property}' of resource '{resource}'.",
  },
  PropertyTaken: {
    status: 400,
    code: 'Request_BadRequest',
    message: 'Another object with the same value for property {property} already exists.',
  },
  UnknownApplication: {
    status: 400,
    code: 'Request_BadRequest',
    message: "The appId '{appId}' of the service principal does not reference a valid application object.",
  },
  UnknownPropertyInQuery: {
    status: 400,
    code: 'BadRequest',
    message: "Could not find a property named '{property}' on type '{type}'.",
  },
  UnsupportedQuery: {
    status: 400,
    code: 'Request_UnsupportedQuery',
    message: "Unsupported query: '{option}' {reason}.",
  },
  ReferenceExistsAlready: {
    status: 400,
    code: 'Request_BadRequest',
    message:
      "One or more added object references already exist for the following modified properties: '{property}'.",
  },
  ReferenceGivenTwice: {
    status: 400,
    code: 'Request_BadRequest',
    message: "'{property}' names the same object more than once.",
  },
  InvalidReference: {
    status: 400,
    code: 'Request_BadRequest',
    message: "A value of '{property}' is not the URL of a directory object.",
  },
  TooManyReferences: {
    status: 400,
    code: 'Request_BadRequest',
    message: "'{property}' takes at most {limit} references in one request.",
  },
  ImpossibleReference: {
    status: 400,
    code: 'Request_BadRequest',
    message: "An invalid operation was included in the following modified references: '{property}'.",
  },
  StandAloneProperty: {
    status: 400,
    code: 'Request_BadRequest',
    message: "Property '{property}' must be updated in a request of its own.",
  },
  DynamicMembershipRefused: {
    status: 400,
    code: 'Request_BadRequest',
    message:
      "Dynamic membership ('groupTypes', 'membershipRule') is not supported: add and remove members by their references.",
  },
  NotAMember: {
    status: 404,
    code: 'Request_ResourceNotFound',
    message: "Object '{id}' is not a member of '{groupId}'.",
  },
  ResultSizeLimitExceeded: {
    status: 400,
    code: 'Directory_ResultSizeLimitExceeded',
    message: 'The result would have more than {limit} identifiers.',
  },

  ExpiredDeltaToken: {
    status: 410,
    code: 'syncStateNotFound',
    message: 'The changes since this token are not known any more. Read everything anew from the Location.',
  },

  UnusableNotificationUrl: {
    status: 400,
    code: 'InvalidRequest',
    message: 'The notification address cannot be used: {reason}.',
  },
  TooManySubscriptions: {
    status: 403,
    code: 'ExtensionError',
    message: 'A caller has at most {limit} subscriptions.',
  },

  // rights beyond the permission tables
  RightsRequired: {
    status: 403,
    code: 'Authorization_RequestDenied',
    message: 'Insufficient privileges to complete the operation. {reason}',
  },
  LastAdministrator: {
    status: 400,
    code: 'Request_BadRequest',
    message: 'The change would leave no enabled {what}. Make another one first.',
  },
  NameOfOwnClient: {
    status: 400,
    code: 'Request_BadRequest',
    message: 'The name looks like that of an application of the service itself. Choose another.',
  },
  OwnClientIsReadOnly: {
    status: 403,
    code: 'Authorization_RequestDenied',
    message: "The application belongs to the service itself and is read-only: '{appId}'.",
  },

  // credentials and what was granted
  PasswordTooWeak: {
    status: 400,
    code: 'Request_BadRequest',
    message:
      'The specified password does not comply with password complexity requirements. Please provide a different password.',
  },
  WrongPassword: {
    status: 400,
    code: 'Request_BadRequest',
    message: 'The current password is not right.',
    masking: { code: 'InvalidRequestContent' },
  },
  CredentialNotFound: {
    status: 400,
    code: 'Request_BadRequest',
    message: 'No credentials found to be removed.',
  },
  PermissionGrantExists: {
    status: 409,
    code: 'Request_MultipleObjectsWithSameKeyValue',
    message: 'Permission entry already exists.',
  },
  UnknownPermission: {
    status: 400,
    code: 'Request_BadRequest',
    message: "There is no permission '{permission}'.",
  },
  ItemNotFound: {
    status: 404,
    code: 'ErrorItemNotFound',
    message: 'The specified object was not found in the store.',
  },
  MailboxAccessDenied: {
    status: 403,
    code: 'ErrorAccessDenied',
    message: 'Access is denied. Check credentials and try again.',
  },
  DefaultItemStays: {
    status: 400,
    code: 'ErrorDeleteDistinguishedFolder',
    message: 'What a mailbox has from the beginning cannot be deleted.',
  },
  ThreadLocked: {
    status: 403,
    code: 'ErrorAccessDenied',
    message: 'The thread is locked and takes no more posts.',
  },
  ExtensionNotFound: {
    status: 404,
    code: 'ResourceNotFound',
    message: 'Extension with given id not found.',
  },
  ExtensionExistsAlready: {
    status: 400,
    code: 'Request_BadRequest',
    message: 'An extension already exists with given id.',
  },
  ExtensionLimitExceeded: {
    status: 400,
    code: 'Request_BadRequest',
    message: 'A resource of this kind holds at most {limit}.',
  },
  DefinitionExistsAlready: {
    status: 400,
    code: 'Request_BadRequest',
    message: 'An extension definition with this name exists already.',
  },
  DefinitionInUse: {
    status: 400,
    code: 'Request_BadRequest',
    message: 'A schema extension that is {status} cannot be deleted.',
  },
} as const satisfies Record<string, Kind>
