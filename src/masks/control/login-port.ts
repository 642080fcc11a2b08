import type { LoginAccess, PreparedLogin } from '../../contracts/login.ts'
import type { Note } from '../../contracts/note.ts'
import type { Database } from '../../db/database.ts'
import type { Sql } from '../../db/sql.ts'
import type { LostLogin } from '../../sessions/standbys.ts'
import type { Policy, Proposal } from '../policy.ts'

export interface Login extends LoginAccess {
  readonly oid: number
}

export type LoginOutcome =
  | Exclude<PreparedLogin, { kind: 'ready' }>
  | { readonly kind: 'ready'; readonly login: Login; readonly changed: boolean }

/** A login role that the service made for a principal. */
export interface KnownLogin {
  readonly oid: number
  readonly name: string
  readonly mark: { readonly principalId: string }
}

export interface SettledLogins {
  /**
   * Changes of login roles and their memberships. Privileges that were revoked are none: masks do not follow from
   * them.
   */
  readonly changed: number
  readonly ended: number
  readonly notes: readonly Note[]
  /** Of people who have rights here. */
  readonly logins: readonly KnownLogin[]
  /** Have nothing left, and can go. */
  readonly dismissed: readonly KnownLogin[]
  /** Lost something, and their sessions at other servers than the primary have not been ended since. */
  readonly left: readonly LostLogin[]
}

export const noLogins: SettledLogins = {
  changed: 0,
  ended: 0,
  notes: [],
  logins: [],
  dismissed: [],
  left: [],
}

/** Keeps the login roles of databases as the directory and the mappings say. */
export interface LoginKeeper {
  /** Makes or corrects the login role of one principal. `reset`: the database did not take the password. */
  prepare(
    database: Database,
    databaseId: string,
    principalId: string,
    options?: { readonly reset?: boolean },
  ): Promise<LoginOutcome>
  /** All login roles of a database. Sessions of those that lost something are ended at the primary. */
  settle(database: Database, databaseId: string): Promise<SettledLogins>
  /**
   * After the masks, which may have given them something: takes away roles that have nothing left. `left`: those of
   * which sessions may go on at other servers.
   */
  finish(
    database: Database,
    databaseId: string,
    settled: SettledLogins,
    left: readonly LostLogin[],
  ): Promise<void>
  /** Lists the login roles and their principals, without a change. */
  list(sql: Sql, databaseId: string): Promise<readonly KnownLogin[]>
}

/** Reads policies with their principals resolved to roles of the database. */
export interface PolicyReader {
  /** The policy exempts a role or a principal. */
  hasExempt(databaseId: string): Promise<boolean>
  /**
   * True while PostgreSQL may honour an exemption of a login role that the policy has withdrawn: a lock keeps a table
   * from being closed, or no turn has come so far.
   */
  isStillExempt(
    sql: Sql,
    databaseId: string,
    principalId: string,
    login: { readonly oid: number },
  ): Promise<boolean>
  /** `proposed`: instead of what is stored. */
  read(
    sql: Sql,
    databaseId: string,
    settled?: Pick<SettledLogins, 'logins'>,
    proposed?: Proposal,
  ): Promise<Policy>
}

/** `bindingOf`: the version of the binding that these very connections are of, whatever the binding is by now. */
export type OpenLogins = (bindingOf: (database: Database) => string) => {
  readonly logins: LoginKeeper
  readonly policies: PolicyReader
}
