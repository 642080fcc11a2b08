// Apart from the schemas of a binding: the command line needs an address, and starts sooner without them.
import { type DatabaseAddress, type PasswordMethod, passwordMethods } from '../../db/database-url.ts'
import type { HostGuard } from '../../db/host-guard.ts'

/** From the weakest to the strongest. */
export const sslModes = ['disable', 'require', 'verify-ca', 'verify-full'] as const

export const [strongestPassword] = passwordMethods

/** How to reach a real database. The password is apart from it, sealed. */
export interface Binding {
  readonly host: string
  readonly port: number
  readonly database: string
  readonly user: string
  readonly sslmode: (typeof sslModes)[number]
  /** PEM of the authority that `verify-ca` and `verify-full` trust; null: those of the system. */
  readonly sslRootCertificate: string | null
  /** The weakest way in which the server may ask for the password. Bindings of before have none: the strongest counts. */
  readonly authentication?: PasswordMethod
}

export function addressOf(binding: Binding, password: string, guard: HostGuard): DatabaseAddress {
  const { host, port, database, user, authentication: weakestPassword = strongestPassword } = binding
  const ssl = tlsOf(binding)
  return { host, port, database, user, password, guard, weakestPassword, ...(ssl && { ssl }) }
}

function tlsOf({ sslmode, sslRootCertificate }: Binding): DatabaseAddress['ssl'] {
  const ca = sslRootCertificate === null ? {} : { ca: sslRootCertificate }
  switch (sslmode) {
    case 'disable':
      return undefined
    case 'require':
      return { rejectUnauthorized: false }
    case 'verify-ca':
      return { ...ca, rejectUnauthorized: true, checkServerIdentity: () => undefined }
    case 'verify-full':
      return { ...ca, rejectUnauthorized: true }
  }
}
