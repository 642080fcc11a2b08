import pg from 'pg'
import { codeOf, sqlstate } from '../kernel/sqlstate.ts'
import type { ConnectionCheck } from './database-marks.ts'
import type { DatabaseAddress, PasswordMethod, Place } from './database-url.ts'
import { guardAnswers, UnreadableAnswer } from './guard-answers.ts'
import {
  choiceOf,
  ForeignServer,
  type HostChoice,
  type HostConnection,
  ReadOnlyServer,
} from './host-choice.ts'
import { GuardedSocket } from './host-guard.ts'
import { createSql } from './sql.ts'

/** The server asks for a password in a way that the address does not allow. Nothing was sent. */
export class WeakAuthentication extends Error {
  readonly code = 'EWEAKAUTH'

  constructor(method: PasswordMethod | 'SCRAM with too few rounds') {
    super(`the server asks for the password by ${method}, which is not allowed`)
  }
}

/** The server let us in without having proven that it knows the password. */
export class UnprovenServer extends Error {
  readonly code = 'EUNPROVEN'

  constructor() {
    super('the server has not proven that it knows the password')
  }
}

type Connected = (error?: Error | null) => void

interface Internals {
  _connect(callback: Connected): void
  query(text: string): Promise<pg.QueryResult>
  end(): Promise<void>
  on(event: 'error' | 'end', listener: () => void): void
  on(event: 'notice', listener: (notice: { readonly routine?: string }) => void): void
  readonly connection: { readonly stream: { destroy(error: Error): void } }
  _handleAuthCleartextPassword(message: unknown): void
  _handleAuthMD5Password(message: unknown): void
  _handleAuthSASLContinue(message: { readonly data: string }): void
  _handleAuthSASLFinal(message: unknown): void
}

/** PostgreSQL's own number. A server that asks for fewer guesses the password that much faster by the proof. */
const leastRounds = 4096

function asksFewRounds(challenge: string): boolean {
  const counts = challenge.split(',').filter((part) => part.startsWith('i='))
  return counts.some((part) => !(Number(part.slice(2)) >= leastRounds))
}

/**
 * The driver's client. It answers no weaker request for a password than the address allows, outlives a lost connection, and
 * goes to the host whose turn it is.
 */
function clientFor(address: DatabaseAddress, hosts: HostChoice): typeof pg.Client {
  const { guard, weakestPassword: weakest = 'password', requiresProof = false } = address
  const refuse = (client: unknown, ...method: ConstructorParameters<typeof WeakAuthentication>) =>
    (client as Internals).connection.stream.destroy(new WeakAuthentication(...method))
  const Base = pg.Client as unknown as new (config?: pg.ClientConfig) => Internals
  class CautiousClient extends Base {
    readonly #place: Place
    #isProven = !requiresProof
    #isAsked = false

    constructor(config?: pg.ClientConfig) {
      const place = hosts.present
      // Not a copy: a pool hides the password from those.
      super(Object.assign(Object.create(config ?? null), place))
      this.#place = place
      // Only a binding has a guard: its server may be hostile.
      if (guard) guardAnswers(this)
      // A connection can end between two statements, also while the pool still checks it and listens to nothing. The next
      // statement fails then; an event without a listener would end the process.
      this.on('error', () => {})
      this.on('notice', ({ routine }) => {
        if (routine === 'SyncRepWaitForLSN') unreplicated.add(this)
      })
    }

    override _connect(callback: Connected): void {
      const finish: Connected = (error) => {
        if (error instanceof pg.DatabaseError && !/^57P/.test(error.code ?? '')) hosts.leave(this.#place)
        else if (error) hosts.distrust(this.#place)
        callback(error)
      }
      super._connect((error) => {
        if (!error && !this.#isProven) {
          void this.end().catch(() => {})
          finish(new UnprovenServer())
        } else if (error || hosts.count === 1) finish(error)
        else this.#requireWrites(finish)
      })
    }

    #requireWrites(finish: Connected): void {
      const askedAt = performance.now()
      const refuse = (reason: Error) => {
        void this.end().catch(() => {})
        finish(reason)
      }
      readServer(this, hosts.asksSystem).then(({ timeline, system }) => {
        const connection: HostConnection = {
          place: this.#place,
          verifiedAt: askedAt,
          timeline: timeline ?? 0,
          destroy: (reason) => this.connection.stream.destroy(reason),
        }
        if (!hosts.recognizes(this.#place, system, timeline !== null))
          return refuse(new ForeignServer(this.#place))
        if (timeline === null || !hosts.admit(connection)) return refuse(new ReadOnlyServer(this.#place))
        connections.set(this, connection)
        this.on('end', () => hosts.forget(connection))
        finish(null)
      }, refuse)
    }

    override _handleAuthCleartextPassword(message: unknown): void {
      if (weakest === 'password') super._handleAuthCleartextPassword(message)
      else refuse(this, 'password')
    }

    override _handleAuthSASLContinue(message: { readonly data: string }): void {
      const isAgain = this.#isAsked
      this.#isAsked = true
      // The driver would work out a proof for each request, thousands at once.
      if (isAgain) this.connection.stream.destroy(new UnreadableAnswer())
      else if (weakest === 'scram-sha-256' && asksFewRounds(message.data))
        refuse(this, 'SCRAM with too few rounds')
      else super._handleAuthSASLContinue(message)
    }

    override _handleAuthSASLFinal(message: unknown): void {
      // A proof that does not fit fails the connection.
      super._handleAuthSASLFinal(message)
      this.#isProven = true
    }

    override _handleAuthMD5Password(message: unknown): void {
      if (weakest !== 'scram-sha-256') super._handleAuthMD5Password(message)
      else refuse(this, 'md5')
    }
  }
  return CautiousClient as unknown as typeof pg.Client
}

/** What a server is to the others of its cluster. */
export interface ServerState {
  /** Null for a server that takes no writes. */
  readonly timeline: number | null
  /** Null: it was not asked, or the login may not ask. */
  readonly system: string | null
}

/** The name of a file of the log begins with the timeline. */
const selectTimeline = `select case when not pg_catalog.pg_is_in_recovery()
  and pg_catalog.current_setting('transaction_read_only') operator(pg_catalog.=) 'off'
  then pg_catalog.pg_walfile_name(pg_catalog.pg_current_wal_lsn()) end as file`
const selectBoth = `${selectTimeline},
  (select system_identifier::pg_catalog.text from pg_catalog.pg_control_system()) as system`

/** Asks the server that a client is connected to. */
export async function readServer(
  client: { query(text: string): Promise<pg.QueryResult> },
  asksSystem: boolean,
): Promise<ServerState> {
  const asked = asksSystem ? client.query(selectBoth) : client.query(selectTimeline)
  const answer: Partial<pg.QueryResult> = await asked.catch((error: unknown) => {
    if (!asksSystem || codeOf(error) !== sqlstate.insufficientPrivilege) throw error
    return client.query(selectTimeline)
  })
  // A server that answers one question twice gets a list, which has no rows.
  const { file, system }: { file?: unknown; system?: unknown } = answer.rows?.[0] ?? {}
  return {
    timeline: typeof file === 'string' ? Number.parseInt(file.slice(0, 8), 16) : null,
    system: typeof system === 'string' ? system : null,
  }
}

const connections = new WeakMap<object, HostConnection>()
const unreplicated = new WeakSet<object>()

/** Undefined: the address has one host. */
export function connectionOf(client: object): HostConnection | undefined {
  return connections.get(client)
}

/**
 * True when the server gave up waiting for its standby: it says that a transaction is committed, and a failover may still
 * lose it.
 */
export function isUnreplicated(client: object): boolean {
  return unreplicated.has(client)
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

/** The driver's options for an address, for pools; `Client` is the class for a single connection. */
export function driverOptions(address: DatabaseAddress) {
  const {
    guard,
    weakestPassword: _weakest,
    requiresProof: _proof,
    others: _others,
    system: _system,
    ...rest
  } = address
  return {
    ...rest,
    // A function, because the driver would put the operator's own PGPASSWORD in the place of an empty one.
    password: () => address.password,
    ssl: address.ssl ?? false,
    Client: clientFor(address, choiceOf(address)),
    ...(guard && { stream: () => new GuardedSocket(guard) }),
  }
}
