import type { Account } from 'oidc-provider'
import type { User } from '../directory/accounts/find-active-user.ts'

/** The client of an id token, as far as it decides about the claims. */
export interface ClaimSources {
  /** The roles of the client that the user holds. */
  readRoles(): Promise<readonly string[]>
  /** Whether the client has consent for `profile`. */
  mayTellName(): Promise<boolean>
}

/** The claims of a user's id token. */
export function describeAccount(
  user: User,
  tenantId: string,
  { readRoles, mayTellName }: ClaimSources,
): Account {
  return {
    accountId: user.id,
    claims: async () => {
      const [roles, isNamed] = await Promise.all([readRoles(), mayTellName()])
      return {
        sub: user.id,
        oid: user.id,
        tid: tenantId,
        ...(isNamed && { name: user.displayName, preferred_username: user.userPrincipalName }),
        ver: '2.0',
        ...(roles.length > 0 && { roles }),
      }
    },
  }
}
