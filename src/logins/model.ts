import type { Logger } from 'pino'
import type { StateStore } from '../contracts/enforcement.ts'
import type { Database } from '../db/database.ts'
import type { Target } from '../masks/policy.ts'
import type { LoginKeys, Mark } from './mark.ts'

/** A principal of the directory with the database roles that mappings give it. */
export interface LoginRights {
  readonly principalId: string
  /** The userPrincipalName or the appId. */
  readonly name: string
  readonly roles: readonly string[]
}

/** Reads of the management side and the directory. */
export interface LoginSource {
  /** Null: no database of that id is bound. */
  find(databaseId: string): Promise<object | null>
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

export interface LoginsOptions extends Pick<StateStore, 'readExemptElsewhere'> {
  readonly source: LoginSource
  /** The version of the binding that these very connections are of. */
  readonly bindingOf: (database: Database) => string
  readonly keys: LoginKeys
  readonly log: Logger
}

export interface Membership {
  readonly role: string
  /** Null before PostgreSQL 16: there a membership has one grantor, and every role that may grant it may revoke it. */
  readonly grantor: string | null
  /** As we give it: it inherits, can be taken on, and cannot be passed on. */
  readonly isPlain: boolean
}

/** A role that can act as the login role, or let others do so. */
export interface Intruder {
  readonly member: string
  readonly grantor: string | null
}

export interface ObservedRole {
  readonly oid: number
  /** `ana@contoso.com/sales` */
  readonly name: string
  readonly canLogin: boolean
  /** Words of ALTER ROLE that reduce it to the attributes of a login role: `NOSUPERUSER`. */
  readonly excess: readonly string[]
  /** Its password counts for some minutes more. */
  readonly isFresh: boolean
  readonly memberships: readonly Membership[]
  readonly intruders: readonly Intruder[]
  /** It owns tables, or the like, here. */
  readonly ownsRelations: boolean
}

/** A login role of this database, made by us. */
export interface ObservedLogin extends ObservedRole {
  readonly mark: Mark
  /** Its mark is to be written anew: its database is not bound any more, or an older key signed it. */
  readonly isAdopted: boolean
}

/** A database role that mappings name, or one that such a role is a member of. */
export interface ReachedRole {
  readonly oid: number
  readonly name: string
  readonly superuser: boolean
  /** `REPLICATION`, `CREATEROLE` */
  readonly attributes: readonly string[]
  readonly canLogin: boolean
  readonly comment: string | null
  /** It is the role of the binding. */
  readonly binds: boolean
  /** The role of the binding, which may grant it or not, on a server of that version. */
  readonly user: string
  readonly version: number
  readonly mayGrant: boolean
  /** Masked tables that it owns here. */
  readonly owned: readonly string[]
  /** Other databases of the server where it owns something, or which it owns. */
  readonly ownsIn: readonly string[]
  /** Another bound database of the server exempts it. */
  readonly isExemptElsewhere: boolean
}

export interface Facts {
  /** `180001` */
  readonly version: number
  readonly database: string
  /** The role of the binding. */
  readonly user: string
  /** The role of the binding may make roles. */
  readonly createsRoles: boolean
  /** When a password that is set now ends to count. */
  readonly until: string
}

/** The login role that a principal is to have, and the roles that mappings give it. */
export interface WantedLogin {
  readonly principalId: string
  readonly role: string
  /** Roles that it is to be a member of, and no others. */
  readonly memberOf: readonly string[]
}

/** Login roles as they are, and what directory and mappings say of their principals. */
export interface LoginSnapshot extends Facts {
  readonly logins: readonly ObservedLogin[]
  /** Names of `rights` that roles have which are none of `logins`. */
  readonly taken: ReadonlySet<string>
  /** With every role that is mapped, whether it can be given or not. */
  readonly rights: readonly WantedLogin[]
  /** By the name that is mapped: that role first, then those that it is a member of. */
  readonly mapped: ReadonlyMap<string, readonly ReachedRole[]>
  /** Masked tables of login roles that are not exempt, by the OID of the role: `public.pay`. */
  readonly owned: ReadonlyMap<number, readonly string[]>
  /** What login roles were granted themselves, by the OID of the role: `table public.pay`. */
  readonly granted: ReadonlyMap<number, readonly string[]>
}

/** The statements for one login role: first what it loses, then what it gets. */
export interface LoginChange {
  readonly login: ObservedLogin
  /** By its present name. Where they cannot be done together, each by itself. */
  readonly closing: readonly string[]
  /** With `closing`, where open sessions may still use what is taken: the mark that they are to end. */
  readonly marking: readonly string[]
  /** Before `closing`, where PostgreSQL refuses that: no login. */
  readonly lockOut: readonly string[]
  /** All of them or none. */
  readonly opening: readonly string[]
}

export interface LoginPlan {
  /** Between closings and openings: roles that bear a name which is now another's. */
  readonly aside: readonly string[]
  readonly changes: readonly LoginChange[]
}
