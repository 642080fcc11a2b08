import type { Tx } from '../../db/database.ts'
import { Problem } from '../../kernel/problem.ts'
import { invitationEnd, makeInvitation } from '../accounts/invitation.ts'
import { setPassword } from '../accounts/password.ts'
import type { Fault } from './find-faults.ts'
import { ImportFailed, type Invitation, maxFaults } from './import-result.ts'

/** Passwords of new users, by line. They never touch a table: only their hashes are stored. */
export type FirstPasswords = Map<number, string>

/** Gives new users the password of their line, or an invitation. Either must be changed at the first sign-in. */
export async function setFirstPasswords(
  tx: Tx,
  tenantId: string,
  passwords: FirstPasswords,
  inviteHours: number | undefined,
): Promise<Invitation[]> {
  if (passwords.size === 0 && inviteHours === undefined) return []
  const users = await tx<{ line: number; id: string; name: string }[]>`
    select line, id, properties ->> 'userPrincipalName' as name from import_object where kind = 'user' order by line`
  const invitations: Invitation[] = []
  const faults: Fault[] = []
  for (const { line, id, name } of users) {
    const given = passwords.get(line)
    if (given === undefined && inviteHours === undefined) continue
    const expiresAt = given === undefined ? invitationEnd(inviteHours) : null
    const password = given ?? makeInvitation()
    try {
      await setPassword(tx, tenantId, id, password, { mustChange: true, expiresAt })
    } catch (error) {
      if (!(error instanceof Problem)) throw error
      faults.push({ line, reason: error.message })
      if (faults.length >= maxFaults) break
    }
    if (expiresAt)
      invitations.push({ userPrincipalName: name, password, expirationDateTime: expiresAt.toISOString() })
  }
  if (faults.length > 0) throw new ImportFailed(faults)
  return invitations
}
