import type { Query } from '../db/query.ts'
import { findActiveUser, type User } from '../directory/accounts/find-active-user.ts'
import { dateSignIn, isOlderThanPassword, isPassword } from '../directory/accounts/password.ts'
import type { KnownBrowser } from './known-browser.ts'
import { returnAttempt, takeAttempt } from './sign-in-throttle.ts'

export type SignInOutcome =
  | { readonly kind: 'signed in'; readonly user: User; readonly at: number }
  /** Wrong password, unknown or disabled user: the caller is not told which. */
  | { readonly kind: 'refused' }
  | { readonly kind: 'too many'; readonly waitSeconds: number }

export interface SignIn {
  readonly userPrincipalName: string
  readonly password: string
  readonly address: string
  /** The browser, where a person has signed in to the account before. */
  readonly browser?: KnownBrowser | undefined
}

export async function verifySignIn(sql: Query, tenantId: string, signIn: SignIn): Promise<SignInOutcome> {
  const user = await findActiveUser(sql, tenantId, { userPrincipalName: signIn.userPrincipalName.trim() })
  const subjects = {
    account: signIn.userPrincipalName,
    address: signIn.address,
    browser: knowsPassword(signIn.browser, user) ? signIn.browser?.id : undefined,
  }
  const waitSeconds = await takeAttempt(sql, subjects)
  if (waitSeconds > 0) return { kind: 'too many', waitSeconds }
  const isRight = await isPassword(user?.passwordHash, signIn.password)
  const at =
    user?.passwordHash && isRight ? await dateSignIn(sql, tenantId, user.id, user.passwordHash) : undefined
  if (!user || at === undefined) return { kind: 'refused' }
  await returnAttempt(sql, subjects)
  return { kind: 'signed in', user, at }
}

/** A browser that signed in with an earlier password may be that of a former holder of the account: it counts as a new one. */
function knowsPassword(browser: KnownBrowser | undefined, user: User | undefined): boolean {
  if (!browser || !user?.passwordChangedAt) return true
  return !isOlderThanPassword(browser.signedInAt, user.passwordChangedAt)
}
