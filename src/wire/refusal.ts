/** Every reason for which the gateway itself ends a connection, as PostgreSQL clients know them. */
const reasons = {
  ProtocolViolation: { sqlstate: '08P01', message: 'protocol violation: {what}' },
  BackendLost: { sqlstate: '08006', message: 'the connection to the database was lost' },
  BackendUnreachable: { sqlstate: '08001', message: 'the database cannot be reached: {why}' },
  UnknownDatabase: {
    sqlstate: '3D000',
    message: 'database "{name}" is not bound to this gateway; name it as database or server/database',
  },
  AmbiguousDatabase: {
    sqlstate: '3D000',
    message: 'several databases are called "{name}"; connect to one of them as {form}',
  },
  NoUser: { sqlstate: '28000', message: 'no PostgreSQL user name specified in startup packet' },
  NeedsTls: {
    sqlstate: '28000',
    message: 'connections from other machines need TLS; connect with sslmode=require or stronger',
  },
  NeedsTlsForToken: {
    sqlstate: '28000',
    message: 'an access token is sent over TLS alone; connect with sslmode=require or stronger',
  },
  TokenRefused: {
    sqlstate: '28P01',
    message: 'login failed for "{name}": the password is not a valid access token for this user',
  },
  TokenExpired: {
    sqlstate: '28P01',
    message: 'login failed for "{name}": the access token has expired',
  },
  NoMappedRole: {
    sqlstate: '28000',
    message: 'no role of this database is mapped to "{name}" or to one of their groups',
  },
  LoginRoleTaken: {
    sqlstate: '28000',
    message: 'the role "{role}" was not made by the gateway; an administrator has to rename or drop it',
  },
  LoginRoleBlocked: {
    sqlstate: '28000',
    message: 'the role "{role}" has rights that no mapping gives; an administrator has to take them away',
  },
  LoginRolesForbidden: {
    sqlstate: '28000',
    message: 'the gateway cannot make roles in this database; an administrator has to run: {statement}',
  },
  LoginRoleRefused: {
    sqlstate: '28000',
    message: 'the database does not let the role of "{name}" in: {why}',
  },
  DirectoryUnavailable: {
    sqlstate: '57P03',
    message: 'logins with a directory account cannot be checked at the moment',
  },
  TokenNeeded: {
    sqlstate: '28000',
    message:
      'the role "{role}" is that of a directory account: log in by the name of the account and an access token',
  },
  SessionUnknown: { sqlstate: '57P03', message: 'the database does not tell whose session it is' },
  WeakLogin: {
    sqlstate: '28000',
    message: 'the database asks for {method}, which the gateway does not pass on; use SCRAM-SHA-256',
  },
  ChannelBinding: {
    sqlstate: '28000',
    message:
      'with TLS on both sides of the gateway the login cannot be bound to one of them; connect with channel_binding=disable',
  },
  Replication: { sqlstate: '0A000', message: 'the gateway does not relay replication' },
  UnsupportedVersion: {
    sqlstate: '0A000',
    message: 'unsupported frontend protocol {version}: the gateway speaks 3.0',
  },
  TooManyConnections: { sqlstate: '53300', message: 'the gateway has no connection left' },
  TooManyForRole: { sqlstate: '53300', message: 'too many connections of "{role}" through the gateway' },
  MessageTooLong: {
    sqlstate: '54000',
    message: 'a message of {bytes} bytes is longer than the {limit} that the gateway takes',
  },
  StartupTimeout: { sqlstate: '08006', message: 'the login took too long' },
  IdleTimeout: { sqlstate: '57P05', message: 'the connection was idle for too long' },
  Shutdown: { sqlstate: '57P01', message: 'the gateway is shutting down' },
  Failure: { sqlstate: 'XX000', message: 'the gateway failed; its log tells more' },
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
