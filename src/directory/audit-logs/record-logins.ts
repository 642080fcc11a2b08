import { randomUUID } from 'node:crypto'
import { isDirectoryName, isUuid } from '../../kernel/uuid.ts'
import type { SignInAttempt, SignInFailure } from './sign-in-attempt.ts'

/** A login at the gateway as far as the log of sign-ins shows it. */
interface Login {
  readonly principal:
    | { readonly id: string; readonly kind: string; readonly applicationId: string }
    | undefined
  readonly from: string
}

interface LoginRecords {
  recordSession(
    session: Login & { readonly id: string; readonly database: { readonly target: string } },
  ): Promise<void>
  recordRefusal(
    login: Login & {
      readonly name: string | undefined
      readonly target: string | undefined
      readonly failure: string
    },
  ): Promise<void>
}

/** Where no principal has proven who it is. Other failures, as of TLS, come before the proof. */
const failures: Readonly<Record<string, SignInFailure>> = {
  wrongToken: 'refusedToken',
  expiredToken: 'refusedToken',
  wrongCredential: 'refusedToken',
  throttled: 'tooManyAttempts',
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
      const { principal, database } = session
      if (principal) log.record({ ...describe(session, database.target), correlationId: session.id })
    },
    async recordRefusal(login: Parameters<Records['recordRefusal']>[0]) {
      await records.recordRefusal(login)
      const { name, principal, target } = login
      const failure = principal ? 'refusedLogin' : failures[login.failure]
      if (name === undefined || !isDirectoryName(name) || !failure) return
      const claimed = isUuid(name) ? { application: name } : { user: name }
      log.record({
        ...describe(login, target),
        ...(!principal && claimed),
        failure,
        correlationId: randomUUID(),
      })
    },
  }
}

function describe(
  { principal, from }: Login,
  database: string | undefined,
): Omit<SignInAttempt, 'correlationId'> {
  const user = principal?.kind === 'user' ? principal.id : undefined
  return {
    by: 'gateway',
    user,
    application: principal?.applicationId,
    address: from,
    database,
  }
}
