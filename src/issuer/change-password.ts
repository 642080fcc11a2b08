import type { Database } from '../db/database.ts'
import type { Query } from '../db/query.ts'
import { findActiveUser } from '../directory/accounts/find-active-user.ts'
import { dateSignIn, isPassword, setPassword } from '../directory/accounts/password.ts'
import { holdPrincipal } from '../directory/principals/find-principals.ts'
import { fail } from '../kernel/problem.ts'
import { returnAttempt, takeAttempt } from './sign-in-throttle.ts'

interface Changer {
  readonly objectId: string
  readonly applicationId: string
}

/** Throws unless `current` is the password of the caller. Wrong ones are counted. Returns the user. */
export async function confirmPassword(
  sql: Query,
  tenantId: string,
  { objectId: userId, applicationId }: Changer,
  current: string,
) {
  const user = await findActiveUser(sql, tenantId, { id: userId })
  if (!user) return fail('ObjectNotFound', { id: userId })
  const subjects = { userId, applicationId }
  const seconds = await takeAttempt(sql, subjects)
  if (seconds > 0) fail('TooManyRequests', { seconds }, { retryAfterSeconds: seconds })
  if (!(await isPassword(user.passwordHash, current)))
    fail('WrongPassword', {}, { target: 'currentPassword' })
  await returnAttempt(sql, subjects)
  return user
}

/**
 * Throws where the password is not the checked one any more, or the user is deleted. Until the end of the transaction it stays that
 * one. DIR-424: the user is locked first, as by changes of a user. What the caller stores may refer to the user.
 */
export async function holdPassword(
  tx: Query,
  tenantId: string,
  userId: string,
  checked: string,
): Promise<void> {
  const isPresent =
    (await holdPrincipal(tx, tenantId, userId)) &&
    (await dateSignIn(tx, tenantId, userId, checked)) !== undefined
  if (!isPresent) fail('WrongPassword', {}, { target: 'currentPassword' })
}

/**
 * Changes a password for a caller who knows the present one. Wrong ones have a count of their own: it must not be a way to
 * lock the sign-in of the person, nor should strangers who fail to sign in keep the person from a new password.
 */
export async function changePassword(
  database: Database,
  tenantId: string,
  caller: Changer,
  current: string,
  next: string,
): Promise<void> {
  const user = await confirmPassword(database.sql, tenantId, caller, current)
  if (current === next) fail('PasswordTooWeak', {}, { target: 'newPassword' })
  const replaces = user.passwordHash ?? ''
  await database.transaction((tx) => setPassword(tx, tenantId, caller.objectId, next, { replaces }))
}
