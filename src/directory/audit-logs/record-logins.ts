import { randomUUID } from 'node:crypto'
import { isUuid } from '../../kernel/uuid.ts'
import type { SignInAttempt } from './sign-in-attempt.ts'

/** A login at the gateway as far as the log of sign-ins shows it. */
interface Login {
  readonly principal:
    | { readonly id: string; readonly kind: string; readonly applicationId: string }
    | undefined
  readonly database: { readonly target: string }
  readonly from: string
}

interface LoginRecords {
  recordSession(session: Login & { readonly id: string }): Promise<void>
  recordRefusal(login: Login & { readonly name: string }): Promise<void>
}

/** Adds logins of principals to the log of sign-ins. Roles of the database are no principals of the directory. */
export function recordLogins<Records extends LoginRecords>(
  records: Records,
  log: { record(attempt: SignInAttempt): void },
): Records {
  return {
    ...records,
    async recordSession(session: Parameters<Records['recordSession']>[0]) {
      await records.recordSession(session)
      if (session.principal) log.record({ ...describe(session), correlationId: session.id })
    },
    async recordRefusal(login: Parameters<Records['recordRefusal']>[0]) {
      await records.recordRefusal(login)
      const claimed = isUuid(login.name) ? { application: login.name } : { user: login.name }
      const who = login.principal
        ? { failure: 'refusedLogin' as const }
        : { ...claimed, failure: 'refusedToken' as const }
      log.record({ ...describe(login), ...who, correlationId: randomUUID() })
    },
  }
}

function describe({ principal, database, from }: Login): Omit<SignInAttempt, 'correlationId'> {
  const user = principal?.kind === 'user' ? principal.id : undefined
  return {
    by: 'gateway',
    user,
    application: principal?.applicationId,
    address: from,
    database: database.target,
  }
}
