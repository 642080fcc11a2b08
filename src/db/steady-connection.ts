import pg from 'pg'
import { everySecond } from '../kernel/every-second.ts'
import { schemaName } from './database.ts'
import type { DatabaseAddress } from './database-url.ts'
import { connectionOf, driverOptions } from './driver-options.ts'
import { choiceOf, type HostChoice } from './host-choice.ts'
import { sendMessages, writeMessages } from './prepared-messages.ts'
import { ConnectionFailure } from './sqlstate.ts'

/** Rows as lists of columns, in the text form of PostgreSQL. */
export type TextRow = readonly (string | null)[]

const connectTimeoutMs = 5_000
/** A store that takes longer than this to read one row is as good as gone. */
const answerTimeoutMs = 5_000
/** Errors with which the server ends the session: the operator, a crash, a limit. */
const endsSession = /^(08|57P0)/

/**
 * The same few statements run all the time: planning those over the partitions of the log takes longer than running them.
 * A plan that stays must use indexes, however small the tables were when it was made.
 */
const planOnce = '-c plan_cache_mode=force_generic_plan -c enable_seqscan=off'

/**
 * One connection, opened when it is needed and again after it was lost. `session` grows with each new connection: while
 * it stays the same, every answer came from the same server, whose log can only have grown.
 */
export class SteadyConnection {
  readonly #address: DatabaseAddress
  readonly #hosts: HostChoice
  readonly #applicationName: string
  readonly #prepared = new WeakMap<pg.Client, Map<string, Buffer>>()
  #client: Promise<pg.Client> | undefined
  #session = 0
  #isClosed = false
  /** Statements without an answer, and since when the oldest of them may be waiting. */
  #waiting = 0
  #waitingSince = 0

  constructor(address: DatabaseAddress, applicationName: string) {
    this.#address = address
    this.#hosts = choiceOf(address)
    this.#applicationName = applicationName
  }

  get session(): number {
    return this.#session
  }

  /** Runs a prepared statement under its name. Rejects with `ConnectionFailure` when the connection is lost. */
  async query(name: string, text: string, values: readonly unknown[]): Promise<TextRow[]> {
    return await this.#use(async (client) => {
      const { rows } = await client.query<(string | null)[]>({
        name,
        text,
        values: [...values],
        rowMode: 'array',
        types: { getTypeParser: () => (value: string | Buffer) => value },
      })
      return rows
    })
  }

  /**
   * The one field of a statement that returns one row, or null. For statements that run again and again with the same
   * values: their messages are written once, and the result is not described each time.
   */
  async readField(name: string, text: string, values: readonly string[]): Promise<string | null> {
    return await this.#use(async (client) => {
      const known = this.#prepared.get(client)?.get(name)
      return await sendMessages(client, known ?? (await this.#prepare(client, name, text, values)))
    })
  }

  async #prepare(client: pg.Client, name: string, text: string, values: readonly string[]): Promise<Buffer> {
    await client.query({ name, text, values: [...values] })
    const messages = writeMessages(name, values)
    this.#prepared.set(client, (this.#prepared.get(client) ?? new Map()).set(name, messages))
    return messages
  }

  async #use<T>(run: (client: pg.Client) => Promise<T>): Promise<T> {
    if (this.#hosts.count > 1) await this.#leaveUntrusted()
    this.#client ??= this.#open()
    const opening = this.#client
    try {
      const client = await opening
      if (this.#waiting++ === 0) this.#waitingSince = performance.now()
      try {
        return await run(client)
      } finally {
        this.#waiting--
        this.#waitingSince = performance.now()
      }
    } catch (error) {
      if (error instanceof pg.DatabaseError && !endsSession.test(error.code ?? '')) throw error
      if (this.#client === opening) this.#client = undefined
      void opening.then((client) => client.end()).catch(() => {})
      throw new ConnectionFailure(error)
    }
  }

  /** One of several hosts that was not seen as the primary for some seconds may have been replaced. */
  async #leaveUntrusted(): Promise<void> {
    const opening = this.#client
    if (!opening) return
    const connection = await opening.then(connectionOf, () => undefined)
    if (!connection || this.#hosts.trusts(connection) || this.#client !== opening) return
    this.#client = undefined
    void opening.then((client) => client.end()).catch(() => {})
  }

  async close(): Promise<void> {
    this.#isClosed = true
    const client = this.#client
    this.#client = undefined
    await client?.then((one) => one.end()).catch(() => {})
  }

  /** An old connection may report its end when the next one is there already: that one stays. */
  #open(): Promise<pg.Client> {
    const opening = this.#connect(() => {
      if (this.#client === opening) this.#client = undefined
    })
    return opening
  }

  async #connect(forget: () => void): Promise<pg.Client> {
    if (this.#isClosed) throw new Error('the connection was closed')
    const { Client, ...options } = driverOptions(this.#address)
    const client = new Client({
      ...options,
      application_name: this.#applicationName,
      connectionTimeoutMillis: connectTimeoutMs,
      keepAlive: true,
      options: `-c search_path=${schemaName} -c TimeZone=UTC ${planOnce}`,
    })
    client.on('error', forget)
    client.on('end', forget)
    await client.connect()
    this.#session++
    this.#watch(client)
    return client
  }

  /** One clock for all statements: the driver's own would be set and cleared with each of them. */
  #watch(client: pg.Client): void {
    const stop = everySecond(() => {
      if (this.#waiting > 0 && performance.now() - this.#waitingSince > answerTimeoutMs)
        client.connection.stream.destroy(new Error('the store does not answer'))
    })
    client.once('end', stop)
  }
}
