import type { Kind } from './kind.ts'

/** Problems of the service itself and of the systems it depends on. */
export const serviceProblems = {
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
  StorageFull: {
    status: 507,
    code: 'InsufficientStorage',
    message:
      'The disk of the database of this service is full, and nothing was changed. An operator has to make room.',
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
  GatewayClosed: {
    status: 503,
    code: 'ServiceUnavailable',
    message:
      'The gateway of this node takes no connections: the node is starting or shutting down. Try again shortly.',
  },
} as const satisfies Record<string, Kind>
