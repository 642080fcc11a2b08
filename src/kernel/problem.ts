/** Which management API a problem is shown in. Codes and some messages differ between the two. */
export type Surface = 'masking' | 'directory'

interface Kind {
  readonly status: number
  readonly code: string
  /** `{name}` is replaced by the parameter of that name. */
  readonly message: string
  /** What one surface says differently. */
  readonly masking?: Partial<Omit<Kind, 'masking' | 'directory'>>
  readonly directory?: Partial<Omit<Kind, 'masking' | 'directory'>>
}

/** Every error the service can answer. Nothing else leaves the service; `docs/errors.md` is made from this table. */
export const problems = {
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

  // what masking says
  ResourceNotFound: {
    status: 404,
    code: 'ResourceNotFound',
    message: "The resource '{id}' was not found.",
  },
  ParentResourceNotFound: {
    status: 404,
    code: 'ParentResourceNotFound',
    message:
      "The parent resource '{id}' was not found. Declare it first: this service is strict about parents.",
  },
  InvalidResourceName: {
    status: 400,
    code: 'InvalidResourceName',
    message: "The '{parameter}' in the path is not a valid name: {reason}.",
  },
  InvalidDataMaskingRule: {
    status: 400,
    code: 'InvalidDataMaskingRule',
    message: 'The masking rule is not valid: {reason}',
  },
  InvalidBinding: {
    status: 400,
    code: 'InvalidBinding',
    message: 'The binding of the database is not valid: {reason}',
  },
  InvalidRoleAssignment: {
    status: 400,
    code: 'InvalidRoleAssignment',
    message: 'The role assignment is not valid: {reason}',
  },

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
  },
  CredentialNotFound: {
    status: 400,
    code: 'Request_BadRequest',
    message: 'No credentials found to be removed.',
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
    message: "An extension property with the name '{name}' exists already.",
  },

  // the service itself
  TooManyRequests: {
    status: 429,
    code: 'TooManyRequests',
    message: 'Too many requests. Try again in {seconds} seconds.',
  },
  InternalServerError: {
    status: 500,
    code: 'InternalServerError',
    message: 'The service met an unexpected condition. Its log has the details under the request id.',
  },
  DatabaseUnavailable: {
    status: 503,
    code: 'ServiceUnavailable',
    message: 'The service cannot reach its database at the moment. Try again shortly.',
  },
  IssuerUnavailable: {
    status: 503,
    code: 'ServiceUnavailable',
    message: "The keys of the token's issuer cannot be fetched at the moment. Try again shortly.",
  },
  ShuttingDown: {
    status: 503,
    code: 'ServiceUnavailable',
    message: 'This node is shutting down. Try again.',
  },
} as const satisfies Record<string, Kind>

export type ProblemName = keyof typeof problems
export type Parameters = Readonly<Record<string, string | number>>

export interface Detail {
  readonly code: string
  readonly message: string
  readonly target?: string
}

interface Extra {
  /** The field or parameter at fault. */
  readonly target?: string
  readonly details?: readonly Detail[]
  readonly retryAfterSeconds?: number
  readonly cause?: unknown
}

/** The only error that is an answer. Anything else thrown is a bug. */
export class Problem extends Error {
  readonly problem: ProblemName
  readonly parameters: Parameters
  readonly target: string | undefined
  readonly details: readonly Detail[] | undefined
  readonly retryAfterSeconds: number | undefined

  constructor(problem: ProblemName, parameters: Parameters = {}, extra: Extra = {}) {
    super(fill(problems[problem].message, parameters), { cause: extra.cause })
    this.name = 'Problem'
    this.problem = problem
    this.parameters = parameters
    this.target = extra.target
    this.details = extra.details
    this.retryAfterSeconds = extra.retryAfterSeconds
  }

  get status(): number {
    return problems[this.problem].status
  }
}

export function fail(problem: ProblemName, parameters?: Parameters, extra?: Extra): never {
  throw new Problem(problem, parameters, extra)
}

export function describe(
  problem: Problem,
  surface: Surface,
): { status: number; code: string; message: string } {
  const kind: Kind = problems[problem.problem]
  const said = { status: kind.status, code: kind.code, message: kind.message, ...kind[surface] }
  return { status: said.status, code: said.code, message: fill(said.message, problem.parameters) }
}

function fill(template: string, parameters: Parameters): string {
  return template.replace(/\{(\w+)\}/g, (whole, name: string) =>
    Object.hasOwn(parameters, name) ? String(parameters[name]) : whole,
  )
}
