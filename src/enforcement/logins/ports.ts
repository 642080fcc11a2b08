import type { Logger } from 'pino'
import type { Database } from '../../db/database.ts'
import type { Note } from '../plan.ts'
import type { Target } from '../policy.ts'
import type { ReadExemptElsewhere } from '../preflight/exempt-elsewhere.ts'
import type { LoginRights } from './desire-logins.ts'
import type { Sign, SignOtherwise } from './mark.ts'
import type { ObservedLogin } from './observe-logins.ts'

export type { LoginRights } from './desire-logins.ts'

/** The login role of a principal, and its password. */
export interface Login {
  readonly role: string
  readonly oid: number
  readonly password: string
  /** Of the binding that the password is of. */
  readonly version: string
}

export type LoginOutcome =
  | { readonly kind: 'ready'; readonly login: Login; readonly changed: boolean }
  /** Nothing is mapped to them that can be given, or they are disabled or gone. */
  | { readonly kind: 'noRole' }
  /** A role of that name exists and is not ours. */
  | { readonly kind: 'nameTaken'; readonly role: string }
  /** It has more than it should, by grants that the role of the binding cannot revoke. */
  | { readonly kind: 'blocked'; readonly role: string }
  /** It owns masked tables, and would see raw values. */
  | { readonly kind: 'ownsMasked'; readonly role: string }
  /** An exemption of it was withdrawn, and the database may still honour it. */
  | { readonly kind: 'stillExempt' }
  /** The role of the binding may not create roles. */
  | { readonly kind: 'notAllowed'; readonly statement: string }
  | { readonly kind: 'notBound' }

/** Reads of the management side and the directory. */
export interface LoginSource {
  /** Null: no database of that id is bound. */
  find(databaseId: string): Promise<{ readonly places?: readonly unknown[] } | null>
  /** The rights of those principals that have any, and the tables that rules name. */
  readLogins(
    databaseId: string,
    principalIds: readonly string[],
  ): Promise<{ readonly rights: readonly LoginRights[]; readonly tables: readonly Target[] }>
  /** The rules that are enforced, and the principals that are exempt from them. */
  readPolicy(
    databaseId: string,
  ): Promise<{ readonly rules: readonly Target[]; readonly exemptPrincipals: readonly string[] }>
}

/** Both of one key of the service, which another may replace at any time. */
export interface LoginPassword {
  readonly password: string
  /** The SCRAM verifier, which PostgreSQL gets instead of the password. */
  verifier(): string
}

/** Values derived from the key of the service: the same on every node. */
export interface LoginKeys {
  roleName(name: string, database: string): string
  /** `binding`: its version, which is another one for each server that the database was bound to. */
  derive(databaseId: string, principalId: string, binding: string): LoginPassword
  readonly sign: Sign
  /** Signatures by the other keys of the service, while one replaces the other. */
  readonly signOtherwise?: SignOtherwise
}

export interface LoginsOptions {
  /** The version of the binding that these very connections are of, whatever the binding is by now. */
  readonly bindingOf: (database: Database) => string
  readonly source: LoginSource
  readonly keys: LoginKeys
  readonly readExemptElsewhere: ReadExemptElsewhere
  /** A mark could not be removed: a later turn ends the sessions that have begun since, and not the next login. */
  readonly askForTurn: (databaseId: string) => void
  readonly log: Logger
}

export interface SettledLogins {
  /** Changes of login roles and their memberships. Privileges that were revoked are none: masks do not follow from them. */
  readonly changed: number
  readonly ended: number
  readonly notes: readonly Note[]
  /** Of people who have rights here. */
  readonly logins: readonly ObservedLogin[]
  /** Have nothing left, and can go. */
  readonly dismissed: readonly ObservedLogin[]
  /** Lost something, and their sessions at other servers than the primary have not been ended since. */
  readonly left: readonly LeftLogin[]
}

export interface LeftLogin {
  readonly oid: number
  /** A server that has replayed so far shows the loss. */
  readonly left: string
}

export const noLogins: SettledLogins = {
  changed: 0,
  ended: 0,
  notes: [],
  logins: [],
  dismissed: [],
  left: [],
}

/** Of the notes that settling returns: each time all that there are. */
export const loginCodes: readonly Note['code'][] = ['LoginRole', 'MappedRole']
