export interface ExchangedToken {
  /** The client id of the application that got it. */
  readonly applicationId: string
  /** Revocations until then do not concern it. */
  readonly issuedAtMs: number
}

/**
 * The facts that an accepted token rests on, without the token. A session at the gateway keeps them: it outlives the expiry of
 * its token, but not the revocation of one of these.
 */
export interface TokenGrounds {
  readonly objectId: string
  readonly kind: 'user' | 'servicePrincipal'
  /** The client id of the application that got the token. */
  readonly applicationId: string
  readonly isOurs: boolean
  /** Principals that the directory does not hold are refused. */
  readonly knownPrincipalsOnly: boolean
  readonly issuedAtMs: number
  /** False: the token tells its time in whole seconds. */
  readonly isTimeExact: boolean
  readonly signInId: string | undefined
  /** The secrets and certificates by which clients got the token. */
  readonly proofs: readonly string[]
  /** The tokens of the same person that it was exchanged for, one for another. */
  readonly exchanged: readonly ExchangedToken[]
  /** The stored credential that stands for a token; undefined: there was a token. */
  readonly credentialId?: string
}
