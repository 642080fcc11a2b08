import { sqlstate } from '../kernel/sqlstate.ts'

/** Every reason for which the gateway itself ends a connection, as PostgreSQL clients know them. */
const reasons = {
  ProtocolViolation: { sqlstate: sqlstate.protocolViolation, message: 'protocol violation: {what}' },
  BackendLost: { sqlstate: sqlstate.connectionFailure, message: 'the connection to the database was lost' },
  BackendUnreachable: {
    sqlstate: sqlstate.unableToConnect,
    message: 'the database cannot be reached: {why}',
  },
  NoPrimary: {
    sqlstate: sqlstate.cannotConnectNow,
    message: 'the server that takes writes is not known at the moment',
  },
  ServerReplaced: {
    sqlstate: sqlstate.adminShutdown,
    message: 'another server has become the primary of this database; connect again',
  },
  BindingChanged: {
    sqlstate: sqlstate.adminShutdown,
    message: 'this database is bound to another place by now, or not bound any more; connect again',
  },
  StandbyLeft: {
    sqlstate: sqlstate.adminShutdown,
    message: 'masks or rights have changed, or the standby of this session is too far behind; connect again',
  },
  NotReached: {
    sqlstate: sqlstate.cannotConnectNow,
    message: 'the binding of this database has not logged in to its server yet; try again when it has',
  },
  UnknownDatabase: {
    sqlstate: sqlstate.invalidCatalogName,
    message: 'database "{name}" is not bound to this gateway; name it as database or server/database',
  },
  AmbiguousDatabase: {
    sqlstate: sqlstate.invalidCatalogName,
    message: 'several databases are called "{name}"; connect to one of them as {form}',
  },
  NoUser: {
    sqlstate: sqlstate.invalidAuthorization,
    message: 'no PostgreSQL user name specified in startup packet',
  },
  NeedsTls: {
    sqlstate: sqlstate.invalidAuthorization,
    message: 'connections from other machines need TLS; connect with sslmode=require or stronger',
  },
  NeedsTlsForToken: {
    sqlstate: sqlstate.invalidAuthorization,
    message: 'an access token is sent over TLS alone; connect with sslmode=require or stronger',
  },
  TokenRefused: {
    sqlstate: sqlstate.invalidPassword,
    message: 'login failed for "{name}": the password is not a valid access token for this user',
  },
  CredentialRefused: {
    sqlstate: sqlstate.invalidPassword,
    message:
      'login failed for "{name}": there is no such credential for this database, or the password is another',
  },
  LoginThrottled: {
    sqlstate: sqlstate.invalidAuthorization,
    message: 'too many failed logins from your address; try again in {seconds} seconds',
  },
  TokenExpired: {
    sqlstate: sqlstate.invalidPassword,
    message: 'login failed for "{name}": the access token has expired',
  },
  TokenRevoked: {
    sqlstate: sqlstate.adminShutdown,
    message: 'the sign-in or permission that this session was opened with has been revoked',
  },
  NoMappedRole: {
    sqlstate: sqlstate.invalidAuthorization,
    message: 'no role of this database is mapped to "{name}" or to one of their groups',
  },
  LoginRoleTaken: {
    sqlstate: sqlstate.invalidAuthorization,
    message: 'the role "{role}" was not made by the gateway; an administrator has to rename or drop it',
  },
  LoginRoleBlocked: {
    sqlstate: sqlstate.invalidAuthorization,
    message: 'the role "{role}" has rights that no mapping gives; an administrator has to take them away',
  },
  LoginRoleOwns: {
    sqlstate: sqlstate.invalidAuthorization,
    message: 'the role "{role}" owns masked tables; an administrator has to give them to another role',
  },
  LoginRolesForbidden: {
    sqlstate: sqlstate.invalidAuthorization,
    message: 'the gateway cannot make roles in this database; an administrator has to run: {statement}',
  },
  ExemptionEnding: {
    sqlstate: sqlstate.cannotConnectNow,
    message: 'the exemption of "{name}" was withdrawn, and the database does not enforce that yet',
  },
  LoginRoleRefused: {
    sqlstate: sqlstate.invalidAuthorization,
    message: 'the database does not let the role of "{name}" in: {why}',
  },
  StoreUnavailable: {
    sqlstate: sqlstate.cannotConnectNow,
    message: 'the gateway cannot look up databases at the moment',
  },
  AuditUnavailable: {
    sqlstate: sqlstate.cannotConnectNow,
    message: 'logins cannot be recorded at the moment',
  },
  DirectoryUnavailable: {
    sqlstate: sqlstate.cannotConnectNow,
    message: 'logins with a directory account cannot be checked at the moment',
  },
  TokenNeeded: {
    sqlstate: sqlstate.invalidAuthorization,
    message:
      'the role "{role}" is that of a directory account: log in by the name of the account and an access token',
  },
  SessionUnknown: {
    sqlstate: sqlstate.cannotConnectNow,
    message: 'the database does not tell whose session it is',
  },
  WeakLogin: {
    sqlstate: sqlstate.invalidAuthorization,
    message: 'the database asks for {method}, which the gateway does not pass on; use SCRAM-SHA-256',
  },
  ChannelBinding: {
    sqlstate: sqlstate.invalidAuthorization,
    message:
      'with TLS on both sides of the gateway the login cannot be bound to one of them; connect with channel_binding=disable',
  },
  Replication: { sqlstate: sqlstate.featureNotSupported, message: 'the gateway does not relay replication' },
  StartDelay: {
    sqlstate: sqlstate.featureNotSupported,
    message: 'the gateway relays no session that delays its own start: connect without post_auth_delay',
  },
  UnsupportedVersion: {
    sqlstate: sqlstate.featureNotSupported,
    message: 'unsupported frontend protocol {version}: the gateway speaks 3.0 to 3.2',
  },
  TooManyConnections: {
    sqlstate: sqlstate.tooManyConnections,
    message: 'the gateway has no connection left',
  },
  TooManyForRole: {
    sqlstate: sqlstate.tooManyConnections,
    message: 'too many connections of "{role}" through the gateway',
  },
  MessageTooLong: {
    sqlstate: sqlstate.programLimitExceeded,
    message: 'a message of {bytes} bytes is longer than the {limit} that the gateway takes',
  },
  TooManyUnanswered: {
    sqlstate: sqlstate.programLimitExceeded,
    message: 'the database has not answered the last {limit} messages of this session',
  },
  StartupTimeout: { sqlstate: sqlstate.connectionFailure, message: 'the login took too long' },
  IdleTimeout: { sqlstate: sqlstate.idleSessionTimeout, message: 'the connection was idle for too long' },
  Shutdown: { sqlstate: sqlstate.adminShutdown, message: 'the gateway is shutting down' },
  Failure: { sqlstate: sqlstate.internalError, message: 'the gateway failed; its log tells more' },
} as const

export type RefusalName = keyof typeof reasons

export class Refusal extends Error {
  readonly reason: RefusalName
  readonly sqlstate: string

  constructor(reason: RefusalName, values: Readonly<Record<string, string>> = {}, options?: ErrorOptions) {
    const { message, sqlstate } = reasons[reason]
    super(
      message.replace(/\{(\w+)\}/g, (_all, name: string) => values[name] ?? ''),
      options,
    )
    this.reason = reason
    this.sqlstate = sqlstate
  }
}

export function refuse(
  reason: RefusalName,
  values?: Readonly<Record<string, string>>,
  options?: ErrorOptions,
): never {
  throw new Refusal(reason, values, options)
}

export function violation(what: string): never {
  return refuse('ProtocolViolation', { what })
}
