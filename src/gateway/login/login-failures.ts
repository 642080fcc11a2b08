import { sqlstate } from '../../kernel/sqlstate.ts'
import { Refusal, type RefusalName } from '../../wire/refusal.ts'

/** Why logins fail, as metrics and audit name it. */
export const loginFailures = [
  'wrongPassword',
  'wrongToken',
  'expiredToken',
  'wrongCredential',
  'throttled',
  'noMapping',
  'closedRole',
  'refusedByDatabase',
  'unknownDatabase',
  'noTls',
  'weakLogin',
  'limit',
  'protocol',
  'unavailable',
] as const

export type LoginFailure = (typeof loginFailures)[number]

/** The database refused the login, and the client has been told. */
export class RefusedByDatabase extends Error {
  readonly sqlstate: string

  constructor(sqlstate: string, message: string) {
    super(message)
    this.sqlstate = sqlstate
  }
}

/** All others say that something is unavailable. */
const refusals: Partial<Record<RefusalName, LoginFailure>> = {
  TokenRefused: 'wrongToken',
  TokenExpired: 'expiredToken',
  CredentialRefused: 'wrongCredential',
  LoginThrottled: 'throttled',
  NoMappedRole: 'noMapping',
  LoginRoleTaken: 'closedRole',
  LoginRoleBlocked: 'closedRole',
  LoginRoleOwns: 'closedRole',
  LoginRolesForbidden: 'closedRole',
  LoginRoleRefused: 'closedRole',
  ExemptionEnding: 'closedRole',
  TokenNeeded: 'closedRole',
  UnknownDatabase: 'unknownDatabase',
  AmbiguousDatabase: 'unknownDatabase',
  NeedsTls: 'noTls',
  NeedsTlsForToken: 'noTls',
  WeakLogin: 'weakLogin',
  ChannelBinding: 'weakLogin',
  TooManyConnections: 'limit',
  TooManyForRole: 'limit',
  NoUser: 'protocol',
  ProtocolViolation: 'protocol',
  Replication: 'protocol',
  StartDelay: 'protocol',
  UnsupportedVersion: 'protocol',
}

export function failureOf(error: unknown): LoginFailure {
  if (error instanceof RefusedByDatabase) return failureOfDatabase(error.sqlstate)
  return (error instanceof Refusal && refusals[error.reason]) || 'unavailable'
}

/** PostgreSQL does not tell a wrong password from a role that does not exist. */
function failureOfDatabase(code: string): LoginFailure {
  if (code === sqlstate.invalidPassword) return 'wrongPassword'
  if (code === sqlstate.tooManyConnections) return 'limit'
  return /^(08|53|57)/.test(code) ? 'unavailable' : 'refusedByDatabase'
}

/** A client that guesses fails so. */
export function isGuess(error: unknown): boolean {
  return ['wrongPassword', 'wrongToken', 'wrongCredential'].includes(failureOf(error))
}
