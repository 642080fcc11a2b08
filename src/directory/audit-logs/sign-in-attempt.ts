/** Why a sign-in failed, with the number under which clients of the original know it. */
export const signInFailures = {
  wrongPassword: [50126, 'The user name or the password is wrong.'],
  unknownUser: [50034, 'The directory has no such user.'],
  disabledUser: [50057, 'The account is disabled.'],
  tooManyAttempts: [50053, 'Too many failed sign-ins: further ones have to wait.'],
  mustChangePassword: [50055, 'The password was right and has to be changed first.'],
  notAssigned: [50105, 'The application requires an assignment that the user does not have.'],
  unknownApplication: [700016, 'The directory has no such application, or it is disabled.'],
  wrongSecret: [7000215, 'The secret of the application is wrong or expired.'],
  grantEnded: [70008, 'The code or refresh token is unknown, used, expired or revoked.'],
  notConsented: [65001, 'No consent covers the permissions that were asked for.'],
  refusedRequest: [9002313, 'The request for a token was malformed or not allowed.'],
  refusedToken: [500133, 'The access token is not valid for this name.'],
  refusedLogin: [530032, 'The database refused the login.'],
  notListed: [50196, 'Further failed sign-ins were counted and not listed one by one.'],
} as const

export type SignInFailure = keyof typeof signInFailures

/** One attempt to sign in. Names are claims of the client: only those that the directory knows are stored. */
export interface SignInAttempt {
  /** How: by a page, by a token from before, by the credentials of an application, or at the gateway. */
  readonly by:
    | 'page'
    | 'browserSession'
    | 'deviceCode'
    | 'code'
    | 'refreshToken'
    | 'clientCredentials'
    | 'onBehalfOf'
    | 'gateway'
  /** Undefined: it succeeded. */
  readonly failure?: SignInFailure | undefined
  /** An id or a userPrincipalName; undefined for an application's own sign-in. */
  readonly user?: string | undefined
  /** The client id of the application. */
  readonly application?: string | undefined
  readonly address: string
  readonly userAgent?: string | undefined
  /** The request or session that the sign-in belongs to. */
  readonly correlationId: string
  /** The database that a login at the gateway is for. */
  readonly database?: string | undefined
}

/** Attempts that are alike within one minute. */
export interface SignInGroup {
  readonly digest: string
  /** The first of them. */
  readonly attempt: SignInAttempt
  readonly windowStart: number
  readonly firstAt: number
  lastAt: number
  count: number
}
