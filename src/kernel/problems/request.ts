import type { Kind } from './kind.ts'

/** Problems of authentication, permission and request syntax: the same conditions in both APIs. */
export const requestProblems = {
  // who is calling
  MissingToken: {
    status: 401,
    code: 'InvalidAuthenticationToken',
    message: 'Access token is empty.',
    masking: {
      code: 'AuthenticationFailed',
      message: "Authentication failed. The 'Authorization' header is missing.",
    },
  },
  InvalidToken: {
    status: 401,
    code: 'InvalidAuthenticationToken',
    message: 'Access token validation failure.',
    masking: { message: 'The access token is invalid.' },
  },
  InvalidAudience: {
    status: 401,
    code: 'InvalidAuthenticationToken',
    message: 'Access token validation failure. Invalid audience.',
    masking: { message: 'The access token was issued for another audience.' },
  },
  ExpiredToken: {
    status: 401,
    code: 'InvalidAuthenticationToken',
    message: 'Lifetime validation failed, the token is expired.',
    masking: { code: 'ExpiredAuthenticationToken', message: 'The access token has expired.' },
  },

  // what they may do
  InsufficientPrivileges: {
    status: 403,
    code: 'Authorization_RequestDenied',
    message: 'Insufficient privileges to complete the operation.',
  },
  AuthorizationFailed: {
    status: 403,
    code: 'AuthorizationFailed',
    message:
      "The client '{client}' with object id '{objectId}' does not have authorization to perform action '{action}' over scope '{scope}'.",
  },
  RevokedMeanwhile: {
    status: 403,
    code: 'Authorization_RequestDenied',
    message:
      'Insufficient privileges to complete the operation. The token was revoked while the request waited.',
    masking: { code: 'AuthorizationFailed', message: 'The token was revoked while the request waited.' },
  },
  ExemptionRevokedMeanwhile: {
    status: 403,
    code: 'AuthorizationFailed',
    message: 'The exemption of the caller was revoked while the request waited.',
  },
  DelegatedOnly: {
    status: 400,
    code: 'BadRequest',
    message: '/me request is only valid with delegated authentication flow.',
  },

  // how a request is put
  UnknownSegment: {
    status: 400,
    code: 'BadRequest',
    message: "Resource not found for the segment '{segment}'.",
  },
  MalformedUrl: {
    status: 400,
    code: 'BadRequest',
    message: 'The URL is not well formed, or a part of it is too long.',
    masking: { code: 'InvalidRequestUri' },
  },
  UnknownPath: {
    status: 404,
    code: 'ResourceNotFound',
    message: "There is no resource at '{path}'.",
    directory: { status: 400, code: 'BadRequest', message: 'The URL cannot be read.' },
  },
  MethodNotAllowed: {
    status: 405,
    code: 'Request_BadRequest',
    message: 'Specified HTTP method is not allowed for the request target.',
    masking: { code: 'MethodNotAllowed', message: 'This resource allows only {allowed}.' },
  },
  UnknownMethod: {
    status: 501,
    code: 'NotImplemented',
    message: "The service does not know the HTTP method '{method}'.",
  },
  UnsupportedMediaType: {
    status: 415,
    code: 'UnsupportedMediaType',
    message: "The media type '{mediaType}' is not supported; send application/json.",
    directory: {
      status: 400,
      code: 'BadRequest',
      message:
        'Unable to read JSON request payload. Please ensure Content-Type header is set and payload is of valid JSON format.',
    },
  },
  MalformedJson: {
    status: 400,
    code: 'BadRequest',
    message:
      'Unable to read JSON request payload. Please ensure Content-Type header is set and payload is of valid JSON format.',
    masking: {
      code: 'InvalidRequestContent',
      message: 'The request content is not valid JSON: {reason}.',
    },
  },
  EmptyPayload: {
    status: 400,
    code: 'BadRequest',
    message: 'Empty Payload. JSON content expected.',
    masking: {
      code: 'InvalidRequestContent',
      message: 'The request has no content; a JSON object is expected.',
    },
  },
  UnexpectedPayload: {
    status: 400,
    code: 'BadRequest',
    message: 'This request takes no body.',
    masking: { code: 'InvalidRequestContent' },
  },
  InvalidRequestContent: {
    status: 400,
    code: 'Request_BadRequest',
    message: '{reason}',
    masking: { code: 'InvalidRequestContent', message: 'The request content is invalid: {reason}' },
  },
  InvalidQueryOption: {
    status: 400,
    code: 'BadRequest',
    message: "Query option '{option}' {reason}.",
    masking: { code: 'InvalidQueryParameter', message: "The query parameter '{option}' {reason}." },
  },
  PayloadTooLarge: {
    status: 413,
    code: 'RequestEntityTooLarge',
    message: 'The request body is larger than {limit} bytes.',
  },
  MissingApiVersionParameter: {
    status: 400,
    code: 'MissingApiVersionParameter',
    message: 'The api-version query parameter (?api-version=) is required. Supported: {supported}.',
  },
  InvalidApiVersionParameter: {
    status: 400,
    code: 'InvalidApiVersionParameter',
    message: "The api-version '{version}' is not supported. Supported: {supported}.",
  },

  // requests inside a batch
  InvalidBatch: {
    status: 400,
    code: 'BadRequest',
    message: 'The batch is not valid: {reason}.',
  },
  InvalidBatchedRequest: {
    status: 400,
    code: 'BadRequest',
    message: 'The request inside the batch is not valid: {reason}.',
  },
  FailedDependency: {
    status: 424,
    code: 'FailedDependency',
    message: "The request was not run: the request '{id}', on which it depends, did not succeed.",
  },

  // what the resource says
  Conflict: {
    status: 409,
    code: 'Request_BadRequest',
    message: '{reason}',
    masking: { code: 'Conflict' },
  },
  PreconditionFailed: {
    status: 412,
    code: 'PreconditionFailed',
    message: 'The resource has changed: its entity tag does not match the If-Match condition.',
  },
  ExistsAlready: {
    status: 412,
    code: 'PreconditionFailed',
    message: 'The resource exists, against the If-None-Match condition.',
  },
} as const satisfies Record<string, Kind>
