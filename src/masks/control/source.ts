import type { Policy, Proposal } from '../policy.ts'
import type { Claimant } from '../read/claim.ts'
import type { BoundTarget } from './connections.ts'

/** Reads of the management side. */
export interface Source {
  find(databaseId: string): Promise<BoundTarget | null>
  /**
   * Reads the rules and the policy as they are now, or as they would be. Principals of the directory are exempt through
   * their login roles.
   */
  readPolicy(databaseId: string, proposed?: Proposal): Promise<Policy>
  /** For masks that may be another bound database's. */
  claimantOf(databaseId: string): Claimant
}
