import type { Caller } from '../../auth/caller.ts'
import type { DirectoryRole } from '../../auth/directory-roles.ts'
import { holdsAnyRole } from '../../auth/effective-rights.ts'
import { fail } from '../../kernel/problem.ts'
import { exactly } from '../permissions.ts'

const readers: readonly DirectoryRole[] = [
  'Global Administrator',
  'Global Reader',
  'Security Administrator',
  'Security Reader',
]

export const auditLogPermission = exactly('AuditLog.Read.All')

/**
 * The logs tell where and when people work. An application that was consented for all people must not show them to
 * each of these people.
 */
export function requireAuditReader(caller: Caller): void {
  if (caller.kind === 'application' || holdsAnyRole(caller, readers)) return
  fail('RightsRequired', {
    reason: `To read the audit logs, the signed-in person must be ${readers.slice(0, -1).join(', ')} or ${readers.at(-1)}.`,
  })
}
