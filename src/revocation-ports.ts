import type { AuthOptions } from './auth/open-auth.ts'
import { listExchanged } from './auth/revoked-tokens.ts'
import { mayBeRevoked, readStandings } from './directory/accounts/standing.ts'
import { findKeptProofs, mayLackProof } from './directory/applications/client-proofs.ts'
import { findOpenSignIns, hasSignInEnded } from './issuer/state-adapter.ts'
import { findOpenCredentials } from './masking/credentials/credential-store.ts'

/** What the rooms say about the tokens of a tenant: whether principals, sign-ins and credentials stand. */
export function createRevocationPorts(
  tenantId: string,
): Pick<AuthOptions, 'mayBeRevoked' | 'revocationSources'> {
  return {
    mayBeRevoked: (sql, grounds) => {
      const { signInId, proofs } = grounds
      const standing = listExchanged(grounds)
        .map((each) => mayBeRevoked(sql, tenantId, each))
        .reduce((some, next) => sql`(${some} or ${next})`)
      const signIn =
        signInId === undefined ? standing : sql`(${standing} or ${hasSignInEnded(sql, signInId)})`
      return proofs.length === 0 ? signIn : sql`(${signIn} or ${mayLackProof(sql, tenantId, proofs)})`
    },
    revocationSources: (sql) => ({
      readStandings: (holders) => readStandings(sql, tenantId, holders),
      findOpenSignIns: (ids) => findOpenSignIns(sql, ids),
      findKeptProofs: (proofs) => findKeptProofs(sql, tenantId, proofs),
      findOpenCredentials: (ids) => findOpenCredentials(sql, ids),
    }),
  }
}
