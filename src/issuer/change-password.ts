import type { Database } from '../db/database.ts'
import { findActiveUser } from '../directory/accounts/find-active-user.ts'
import { isPassword, setPassword } from '../directory/accounts/password.ts'
import { fail } from '../kernel/problem.ts'
import { returnAttempt, takeAttempt } from './sign-in-throttle.ts'

/** Changes a password for a caller who knows the present one. Wrong ones count as failed sign-ins of the account. */
export async function changePassword(
  database: Database,
  tenantId: string,
  userId: string,
  current: string,
  next: string,
): Promise<void> {
  const { sql } = database
  const user = await findActiveUser(sql, tenantId, { id: userId })
  if (!user) return fail('ObjectNotFound', { id: userId })
  const account = user.userPrincipalName
  const seconds = await takeAttempt(sql, { account })
  if (seconds > 0) fail('TooManyRequests', { seconds }, { retryAfterSeconds: seconds })
  if (!(await isPassword(user.passwordHash, current)))
    fail('WrongPassword', {}, { target: 'currentPassword' })
  if (current === next) fail('PasswordTooWeak', {}, { target: 'newPassword' })
  const replaces = user.passwordHash ?? ''
  await database.transaction((tx) => setPassword(tx, tenantId, userId, next, { replaces }))
  await returnAttempt(sql, { account })
}
