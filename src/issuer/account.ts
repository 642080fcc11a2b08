import type { Account } from 'oidc-provider'
import type { User } from '../directory/accounts/find-user.ts'

/** The claims of a user's id token. */
export function describeAccount(user: User, tenantId: string): Account {
  return {
    accountId: user.id,
    claims: async () => ({
      sub: user.id,
      oid: user.id,
      tid: tenantId,
      name: user.displayName,
      preferred_username: user.userPrincipalName,
      ver: '2.0',
    }),
  }
}
