import type { AuthOptions } from './auth/open-auth.ts'
import { mayBeRevoked, readStandings } from './directory/accounts/standing.ts'
import { findOpenSignIns, hasSignInEnded } from './issuer/state-adapter.ts'
import { findOpenCredentials } from './masking/credentials/credential-store.ts'

/** What the rooms say about the tokens of a tenant: whether principals, sign-ins and credentials stand. */
export function createRevocationPorts(
  tenantId: string,
): Pick<AuthOptions, 'mayBeRevoked' | 'revocationSources'> {
  return {
    mayBeRevoked: (sql, grounds) => {
      const isDoubtful = mayBeRevoked(sql, tenantId, grounds)
      const { signInId } = grounds
      return signInId === undefined ? isDoubtful : sql`(${isDoubtful} or ${hasSignInEnded(sql, signInId)})`
    },
    revocationSources: (sql) => ({
      readStandings: (holders) => readStandings(sql, tenantId, holders),
      findOpenSignIns: (ids) => findOpenSignIns(sql, ids),
      findOpenCredentials: (ids) => findOpenCredentials(sql, ids),
    }),
  }
}
