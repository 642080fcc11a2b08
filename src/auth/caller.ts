declare const verified: unique symbol

/** The caller as a verified token describes it. Only `auth/` makes one; holding one means the check was done. */
export interface Caller {
  readonly [verified]: true
  /** Delegated: a person signed in through an application. Application: the application itself. */
  readonly kind: 'delegated' | 'application'
  /** A personal account: a person of the consumer tenant. */
  readonly personal: boolean
  readonly tenantId: string
  /** The user's object id, or the service principal's. */
  readonly objectId: string
  /** The client id of the application that got the token. */
  readonly applicationId: string
  /** `scp` of a delegated token, `roles` of an application's. */
  readonly permissions: ReadonlySet<string>
  /** Template ids of the directory roles that the user holds (`wids`). */
  readonly directoryRoles: ReadonlySet<string>
  /** The origin that the sign-in was answered at; undefined where a token of ours does not say it, and for outside ones. */
  readonly signInOrigin?: string
}

export type CallerFacts = Omit<Caller, typeof verified>

/** For `auth/` alone; a house test holds the others off. */
export function makeCaller(facts: CallerFacts): Caller {
  return facts as Caller
}
