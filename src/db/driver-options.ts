import pg from 'pg'
import type { ConnectionCheck } from './database-marks.ts'
import type { DatabaseAddress, PasswordMethod } from './database-url.ts'
import { GuardedSocket } from './host-guard.ts'
import { createSql } from './sql.ts'

/** The server asks for a password in a way that the address does not allow. Nothing was sent. */
export class WeakAuthentication extends Error {
  readonly code = 'EWEAKAUTH'

  constructor(method: PasswordMethod) {
    super(`the server asks for the password by ${method}, which is not allowed`)
  }
}

interface Internals {
  on(event: 'error', listener: () => void): void
  readonly connection: { readonly stream: { destroy(error: Error): void } }
  _handleAuthCleartextPassword(message: unknown): void
  _handleAuthMD5Password(message: unknown): void
}

/** The driver's client, which answers no weaker request for a password than the address allows, and outlives a lost connection. */
function clientFor(weakest: PasswordMethod): typeof pg.Client {
  const refuse = (client: unknown, method: PasswordMethod) =>
    (client as Internals).connection.stream.destroy(new WeakAuthentication(method))
  const Base = pg.Client as unknown as new (config?: pg.ClientConfig) => Internals
  class CautiousClient extends Base {
    constructor(config?: pg.ClientConfig) {
      super(config)
      // A connection can end between two statements, also while the pool still checks it and listens to nothing. The next
      // statement fails then; an event without a listener would end the process.
      this.on('error', () => {})
    }

    override _handleAuthCleartextPassword(message: unknown): void {
      if (weakest === 'password') super._handleAuthCleartextPassword(message)
      else refuse(this, 'password')
    }

    override _handleAuthMD5Password(message: unknown): void {
      if (weakest !== 'scram-sha-256') super._handleAuthMD5Password(message)
      else refuse(this, 'md5')
    }
  }
  return CautiousClient as unknown as typeof pg.Client
}

/** For the options of a pool: runs the check on each new connection before anything else. */
export function checkConnections(check: ConnectionCheck) {
  return {
    verify: (client: pg.ClientBase, done: (error?: Error) => void) => {
      const sql = createSql(({ text, values }) => client.query({ text, values }))
      check(sql).then(() => done(), done)
    },
  }
}

/** What the driver is told of an address, for pools; `Client` is the class for a single connection. */
export function driverOptions(address: DatabaseAddress) {
  const { guard, weakestPassword = 'password', ...rest } = address
  return {
    ...rest,
    // A function, because the driver would put the operator's own PGPASSWORD in the place of an empty one.
    password: () => address.password,
    ssl: address.ssl ?? false,
    Client: clientFor(weakestPassword),
    ...(guard && { stream: () => new GuardedSocket(guard) }),
  }
}
