import type { Policy, Proposal, Target } from '../policy.ts'
import type { Claimant } from '../read/claim.ts'
import type { StoredRole } from '../read/judge-exempt.ts'
import type { BoundTarget } from './connections.ts'

export interface StoredPolicy extends Policy {
  readonly exemptPrincipals: readonly string[]
  /** About entries of the exempt list, as they were when the list was read. */
  readonly exemptRecords: readonly StoredRole[]
}

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

/** Reads of the management side. */
export interface Source extends LoginSource {
  find(databaseId: string): Promise<BoundTarget | null>
  /**
   * Reads the rules and the policy as they are now, or as they would be. Principals of the directory are exempt through
   * their login roles.
   */
  readPolicy(databaseId: string, proposed?: Proposal): Promise<StoredPolicy>
  /** For masks that may be another bound database's. */
  claimantOf(databaseId: string): Claimant
}
