/** The rows of the table of reasons in `docs/enforcement.md`. */
export type ReasonKind = 'attribute' | 'membership' | 'ownership' | 'code' | 'privilege' | 'server'

/** Why masks do not contain a role. */
export interface Reason {
  readonly kind: ReasonKind
  /** Goes on behind the name of the role: `has REPLICATION, and can copy the whole server` */
  readonly text: string
  /** Removes the reason: `ALTER ROLE "copier" NOREPLICATION`. Null: only an exemption does (the first superuser). */
  readonly statement: string | null
  /** The role through which it holds: `copier`, or `PUBLIC`. Null: it is about the role itself. */
  readonly via: string | null
}

/** Whether masks contain a database role. */
export interface Verdict {
  /** `analyst` */
  readonly role: string
  readonly canLogIn: boolean
  /** There are no reasons. */
  readonly contained: boolean
  readonly reasons: readonly Reason[]
}

/** What the verdicts have to know about the masks of a database, all of it by OID. */
export interface MaskFacts {
  /**
   * The relations that rules name, also those that were renamed since: `[16402]`. Their partitions, children and
   * parents follow.
   */
  readonly relations: readonly number[]
  /** The roles that the policy exempts, by themselves or as members. */
  readonly exempt: readonly number[]
  /** The role of the binding. */
  readonly self: number
  /** The roles that own twins. */
  readonly twinOwners: readonly number[]
  /** The login roles of people. Their memberships follow mappings: a revoked one comes back. */
  readonly logins: readonly number[]
  /** The rules are not in force: the turn that puts them there takes rights from roles, and these do not count. */
  readonly isProposed?: boolean
}
