import type { Database } from '../db/database.ts'
import { findActiveUser } from '../directory/accounts/find-active-user.ts'
import { isPassword, setPassword } from '../directory/accounts/password.ts'
import { fail } from '../kernel/problem.ts'
import { returnAttempt, takeAttempt } from './sign-in-throttle.ts'

/**
 * Changes a password for a caller who knows the present one. Wrong ones have a count of their own: it must not be a way to
 * lock the sign-in of the person, nor should strangers who fail to sign in keep the person from a new password.
 */
export async function changePassword(
  database: Database,
  tenantId: string,
  { objectId: userId, applicationId }: { readonly objectId: string; readonly applicationId: string },
  current: string,
  next: string,
): Promise<void> {
  const { sql } = database
  const user = await findActiveUser(sql, tenantId, { id: userId })
  if (!user) return fail('ObjectNotFound', { id: userId })
  const subjects = { userId, applicationId }
  const seconds = await takeAttempt(sql, subjects)
  if (seconds > 0) fail('TooManyRequests', { seconds }, { retryAfterSeconds: seconds })
  if (!(await isPassword(user.passwordHash, current)))
    fail('WrongPassword', {}, { target: 'currentPassword' })
  await returnAttempt(sql, subjects)
  if (current === next) fail('PasswordTooWeak', {}, { target: 'newPassword' })
  const replaces = user.passwordHash ?? ''
  await database.transaction((tx) => setPassword(tx, tenantId, userId, next, { replaces }))
}
