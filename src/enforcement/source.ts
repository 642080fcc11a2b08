import type { BoundTarget } from './connections.ts'
import type { Claimant } from './guard/claim.ts'
import type { LoginSource } from './logins/ports.ts'
import type { Policy } from './policy.ts'

/** Reads of the management side. */
export interface Source extends LoginSource {
  find(databaseId: string): Promise<BoundTarget | null>
  /** Reads the rules and the policy as they are now. Principals of the directory are exempt through their login roles. */
  readPolicy(databaseId: string): Promise<Policy & { readonly exemptPrincipals: readonly string[] }>
  /** For masks that may be another bound database's. */
  claimantOf(databaseId: string): Claimant
}
