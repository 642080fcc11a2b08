/** The directory's state of the principal and the client that a token names. */
export interface Standing {
  /** The kind of object that has the token's object id. */
  readonly kind: 'user' | 'servicePrincipal' | 'absent'
  /** Neither disabled nor deleted. */
  readonly enabled: boolean
  /** The client application is there and enabled. */
  readonly client: 'enabled' | 'disabled' | 'absent'
  /** Tokens from before this time are void: the password was changed, a permission withdrawn. */
  readonly validFromMs: number
  /** False: the client admits assigned people alone, and the principal is a person without an assignment. */
  readonly isAdmitted: boolean
}

/** Reads what the directory says now about a principal and the client that got its token. */
export type ReadStanding = (objectId: string, applicationId: string) => Promise<Standing | undefined>

/** A principal, and the client that got its token. */
export interface TokenHolder {
  readonly objectId: string
  readonly applicationId: string
}

/** True while the sign-in that a token came from goes on: neither signed out nor revoked, no code or token replayed. */
export type IsSignInOpen = (signInId: string) => Promise<boolean>
