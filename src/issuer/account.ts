import type { Account } from 'oidc-provider'
import type { User } from '../directory/accounts/find-active-user.ts'

/** The claims of a user's id token; `readRoles` tells which roles of the client the user holds. */
export function describeAccount(
  user: User,
  tenantId: string,
  readRoles: () => Promise<readonly string[]>,
): Account {
  return {
    accountId: user.id,
    claims: async () => {
      const roles = await readRoles()
      return {
        sub: user.id,
        oid: user.id,
        tid: tenantId,
        name: user.displayName,
        preferred_username: user.userPrincipalName,
        ver: '2.0',
        ...(roles.length > 0 && { roles }),
      }
    },
  }
}
