import type { Policy, Proposal } from '../policy.ts'
import type { Claimant } from '../read/claim.ts'
import type { NamedEntries, StoredRole } from '../read/judge-exempt.ts'
import type { BoundTarget } from './connections.ts'

export interface StoredPolicy extends Policy, NamedEntries {
  readonly exemptPrincipals: readonly string[]
  /** About entries of the exempt list, as they were when the list was read. */
  readonly exemptRecords: readonly StoredRole[]
}

/** Reads of the management side. */
export interface Source {
  find(databaseId: string): Promise<BoundTarget | null>
  /**
   * Reads the rules and the policy as they are now, or as they would be. Principals of the directory are exempt through
   * their login roles.
   */
  readPolicy(databaseId: string, proposed?: Proposal): Promise<StoredPolicy>
  /** For masks that may be another bound database's. */
  claimantOf(databaseId: string): Claimant
}
