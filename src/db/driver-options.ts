import pg from 'pg'
import type { ConnectionCheck } from './database-marks.ts'
import type { DatabaseAddress, PasswordMethod } from './database-url.ts'
import { choiceOf, type HostChoice, ReadOnlyServer } from './host-choice.ts'
import { GuardedSocket } from './host-guard.ts'
import { createSql } from './sql.ts'

/** The server asks for a password in a way that the address does not allow. Nothing was sent. */
export class WeakAuthentication extends Error {
  readonly code = 'EWEAKAUTH'

  constructor(method: PasswordMethod) {
    super(`the server asks for the password by ${method}, which is not allowed`)
  }
}

type Connected = (error?: Error | null) => void

interface Internals {
  _connect(callback: Connected): void
  query(text: string, callback: (error: Error | null, result: pg.QueryResult) => void): void
  end(): Promise<void>
  on(event: 'error', listener: () => void): void
  readonly connection: { readonly stream: { destroy(error: Error): void } }
  _handleAuthCleartextPassword(message: unknown): void
  _handleAuthMD5Password(message: unknown): void
}

/**
 * The driver's client. It answers no weaker request for a password than the address allows, outlives a lost connection, and
 * goes to the host whose turn it is.
 */
function clientFor(weakest: PasswordMethod, hosts: HostChoice): typeof pg.Client {
  const refuse = (client: unknown, method: PasswordMethod) =>
    (client as Internals).connection.stream.destroy(new WeakAuthentication(method))
  const Base = pg.Client as unknown as new (config?: pg.ClientConfig) => Internals
  class CautiousClient extends Base {
    readonly #place = hosts.present

    constructor(config?: pg.ClientConfig) {
      // Not a copy: a pool hides the password from those.
      super(Object.assign(Object.create(config ?? null), hosts.present))
      // A connection can end between two statements, also while the pool still checks it and listens to nothing. The next
      // statement fails then; an event without a listener would end the process.
      this.on('error', () => {})
    }

    override _connect(callback: Connected): void {
      const finish: Connected = (error) => {
        if (error) hosts.leave(this.#place)
        callback(error)
      }
      super._connect((error) => {
        if (error || hosts.count === 1) finish(error)
        else this.#requireWrites(finish)
      })
    }

    #requireWrites(finish: Connected): void {
      this.query('show transaction_read_only', (error, result) => {
        const [row] = error ? [] : result.rows
        if (row?.transaction_read_only === 'off') return finish(null)
        void this.end().catch(() => {})
        finish(error ?? new ReadOnlyServer(this.#place))
      })
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
  const { guard, weakestPassword = 'password', others: _others, ...rest } = address
  return {
    ...rest,
    // A function, because the driver would put the operator's own PGPASSWORD in the place of an empty one.
    password: () => address.password,
    ssl: address.ssl ?? false,
    Client: clientFor(weakestPassword, choiceOf(address)),
    ...(guard && { stream: () => new GuardedSocket(guard) }),
  }
}
