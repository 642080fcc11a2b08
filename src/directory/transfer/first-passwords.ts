import type { Tx } from '../../db/database.ts'
import { Problem } from '../../kernel/problem.ts'
import { invitationEnd, makeInvitation } from '../accounts/invitation.ts'
import { hashPassword } from '../accounts/password.ts'
import type { Fault } from './find-faults.ts'
import { type Invitation, maxFaults } from './import-result.ts'

/** Passwords of new users, by line. They never touch a table: only their hashes are stored. */
export type FirstPasswords = Map<number, string>

interface Hashed {
  readonly userId: string
  readonly hash: string
  readonly expiresAt: Date | null
}

export interface MadePasswords {
  readonly faults: readonly Fault[]
  readonly hashed: readonly Hashed[]
  readonly invitations: readonly Invitation[]
}

/**
 * Hashes the password of each new user's line, or an invitation. It takes 20 ms or more for each user, so it comes before the import
 * locks any object.
 */
export async function makeFirstPasswords(
  tx: Tx,
  passwords: FirstPasswords,
  inviteHours: number | undefined,
): Promise<MadePasswords> {
  const faults: Fault[] = []
  const hashed: Hashed[] = []
  const invitations: Invitation[] = []
  if (passwords.size === 0 && inviteHours === undefined) return { faults, hashed, invitations }
  const users = await tx<{ line: number; id: string; name: string }[]>`
    select line, id, properties ->> 'userPrincipalName' as name from import_object where kind = 'user' order by line`
  for (const { line, id, name } of users) {
    const given = passwords.get(line)
    if (given === undefined && inviteHours === undefined) continue
    const expiresAt = given === undefined ? invitationEnd(inviteHours) : null
    const password = given ?? makeInvitation()
    try {
      hashed.push({ userId: id, hash: await hashPassword(password, name), expiresAt })
    } catch (error) {
      if (!(error instanceof Problem)) throw error
      faults.push({ line, reason: error.message })
      if (faults.length >= maxFaults) break
    }
    if (expiresAt)
      invitations.push({ userPrincipalName: name, password, expirationDateTime: expiresAt.toISOString() })
  }
  return { faults, hashed, invitations }
}

const rowsAtOnce = 10_000

/** Gives new users, once they are stored, their passwords. Each must be changed at the first sign-in. */
export async function storeFirstPasswords(
  tx: Tx,
  tenantId: string,
  hashed: readonly Hashed[],
): Promise<void> {
  for (let at = 0; at < hashed.length; at += rowsAtOnce) {
    const rows = hashed.slice(at, at + rowsAtOnce)
    await tx`
      insert into user_password (tenant_id, user_id, hash, must_change, expires_at, changed_at)
      select ${tenantId}, user_id, hash, true, expires_at, clock_timestamp()
      from unnest(${rows.map(({ userId }) => userId)}::uuid[], ${rows.map(({ hash }) => hash)}::text[],
        ${rows.map(({ expiresAt }) => expiresAt?.toISOString() ?? null)}::timestamptz[]) as made (user_id, hash, expires_at)`
  }
}
