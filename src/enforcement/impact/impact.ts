import type { Note } from '../plan.ts'

/** A session as far as PostgreSQL shows it to the role of the binding; null where it does not. */
export interface LiveSession {
  readonly pid: number
  readonly role: string
  readonly application: string
  readonly address: string | null
  readonly since: string | null
}

/** A relation of which a role can read raw values now, and could not under the policy. */
export interface LostRelation {
  readonly relation: string
  readonly kind: string
  readonly columns: readonly string[]
  /** The view that shows it masked; null: the role is denied. */
  readonly twin: string | null
}

export interface RoleImpact {
  readonly role: string
  readonly canLogIn: boolean
  readonly sessions: readonly LiveSession[]
  readonly relations: readonly LostRelation[]
  /** Functions that the role may call and that read such relations, with its own rights or with those of their owner. */
  readonly functions: readonly { readonly name: string; readonly runsAsOwner: boolean }[]
}

/** The effects of enforcing a policy on the roles and sessions of a database. */
export interface Impact {
  /** Roles that would lose raw values, those with live sessions first. */
  readonly roles: readonly RoleImpact[]
  readonly ended: readonly (LiveSession & { readonly reason: string })[]
  /** Relations that masked roles could not read at all. */
  readonly closed: readonly { readonly relation: string; readonly reason: string }[]
  readonly statements: readonly { readonly sql: string; readonly why: string }[]
  readonly notes: readonly Note[]
}
