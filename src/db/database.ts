import pg from 'pg'
import { type Attributes, tracer } from '../kernel/tracer.ts'
import type { ConnectionCheck } from './database-marks.ts'
import { type DatabaseAddress, type Place, parseDatabaseUrl } from './database-url.ts'
import { checkConnections, connectionOf, driverOptions, isUnreplicated } from './driver-options.ts'
import { guardValues } from './guard-answers.ts'
import { choiceOf, type HostChoice } from './host-choice.ts'
import { withKnownSettings } from './known-settings.ts'
import { nestedUse } from './nested-use.ts'
import { nameStatement, renameIfStale } from './prepared.ts'
import { watchPrimary } from './primary-watch.ts'
import { createSql, type Sql, type Statement } from './sql.ts'
import { ConnectionFailure, isRetryable, translateDatabaseError } from './sqlstate.ts'
import { steadyOptions, steadyStatement } from './steady-settings.ts'
import { runTransaction, type TransactionOptions, type Tx } from './transaction.ts'

export type { Sql } from './sql.ts'
export type { Tx } from './transaction.ts'

export type DatabaseOptions = {
  /** A URL, or an address where one is at hand. */
  url: string | DatabaseAddress
  poolSize?: number
  applicationName?: string
  /** Where unqualified names are looked up; the service's own schema unless said otherwise. */
  searchPath?: string
  statementTimeoutMs?: number
  /** How long the server may take to answer anything, where it cannot be relied on to say so itself. */
  answerTimeoutMs?: number
  idleInTransactionTimeoutMs?: number
  /** Rejects for a connection that must not be used. */
  check?: ConnectionCheck
  /** Hears of every statement and transaction that failed, as it is passed on. */
  onFailure?: ((error: unknown) => void) | undefined
  /** Roles of that database may be hostile: its settings do not count, and so many connections stay open once made. */
  foreign?: { readonly keep: number }
}

export type Database = {
  /** For single statements, each a transaction of its own. */
  sql: Sql
  /**
   * The same for statements that an open transaction waits for. They have connections of their own: transactions that hold
   * all others would wait for each other. Send nothing here that waits for a lock. A read waits for those of tables: a statement
   * that takes ACCESS EXCLUSIVE queues between it and the transaction, so each such statement needs a `lock_timeout` (SVC-124).
   */
  aside: Sql
  /** Runs `run` again from its start after a serialization failure or deadlock, so it must have no other effects. */
  transaction<T>(run: (tx: Tx) => Promise<T>, options?: TransactionOptions): Promise<T>
  /** Where the primary of several hosts was last seen; undefined: there is one host, or none was seen yet. */
  primary(): Place | undefined
  /** The cluster of several hosts, by its system identifier; undefined: it is not known, or does not matter. */
  system(): string | undefined
  /** Hosts that belong to another cluster: they are not used. */
  strangers(): readonly Place[]
  close(): Promise<void>
}

export const schemaName = 'masquerade'
const attempts = 6
const closeTimeoutMs = 5_000
const asideConnections = 2

export function openDatabase(options: DatabaseOptions): Database {
  const address = typeof options.url === 'string' ? parseDatabaseUrl(options.url) : options.url
  const choice = choiceOf(address)
  const hosts = choice.count
  const poolOptions: pg.PoolConfig = {
    ...driverOptions(address),
    max: options.poolSize ?? 10,
    connectionTimeoutMillis: hosts > 1 ? 4_000 : 10_000,
    idleTimeoutMillis: 60_000,
    // A closed connection would make room for a role that takes every free one.
    ...(options.foreign ? { min: options.foreign.keep, onConnect: settle } : { maxLifetimeSeconds: 3600 }),
    keepAlive: true,
    application_name: options.applicationName ?? 'masquerade',
    statement_timeout: options.statementTimeoutMs ?? 30_000,
    ...(options.answerTimeoutMs !== undefined && { query_timeout: options.answerTimeoutMs }),
    idle_in_transaction_session_timeout: options.idleInTransactionTimeoutMs ?? 60_000,
    options: `-c search_path=${options.searchPath ?? schemaName} -c TimeZone=UTC${options.foreign ? steadyOptions : ''}`,
    types: { getTypeParser: address.guard ? guardValues(chooseParser) : chooseParser },
    ...(options.check && checkConnections(options.check)),
  }
  const pool = new pg.Pool(poolOptions)
  const asidePool = new pg.Pool({ ...poolOptions, min: 0, max: asideConnections })
  const watch = hosts > 1 ? watchPrimary(address, options.foreign && (() => pool.options.options)) : undefined
  // A connection that is lost while idle is replaced when the next is needed.
  for (const one of [pool, asidePool]) one.on('error', () => {})
  let closed: Promise<void> | undefined
  const passOn = (error: unknown): never => {
    const translated = translateDatabaseError(error)
    options.onFailure?.(translated)
    throw translated
  }
  // A bound server may be hostile, and say as often as it is asked that a circle of locks ended the statement.
  const times = options.foreign ? 2 : attempts
  const sqlOf = (one: pg.Pool) =>
    createSql((statement) =>
      withKnownSettings(one, () => sendAlone(one, choice, statement, times)).catch(passOn),
    )
  return {
    sql: sqlOf(pool),
    aside: sqlOf(asidePool),
    transaction: (run, settings) =>
      repeat(async () => {
        const client = await withKnownSettings(pool, () => takeConnection(pool, choice))
        const work = () => runTransaction(client, send, run, settings)
        return await (nestedUse ? nestedUse.within(pool, work) : work())
      }).catch(passOn),
    primary: () => choice.primary,
    system: () => choice.system,
    strangers: () => choice.strangers,
    close: () => {
      closed ??= Promise.race([
        Promise.all([pool.end(), asidePool.end(), watch?.close()]).then(() => {}),
        giveUp(),
      ])
      return closed
    },
  }
}

async function settle(client: pg.ClientBase): Promise<void> {
  await client.query(steadyStatement)
}

function send(client: pg.ClientBase, statement: Statement) {
  const work = () => sendNow(client, statement)
  return tracer ? tracer.runBelow(...describeStatement(statement), work) : work()
}

/** Texts with parameters hold no values. Others may have literals: of these a trace gets the first word. */
function describeStatement({ text, values }: Statement): [string, Attributes] {
  const [word = ''] = /[a-z]+/i.exec(text) ?? []
  return [
    `SQL ${word.toLowerCase()}`,
    { 'db.system.name': 'postgresql', ...(values.length > 0 && { 'db.query.text': text.slice(0, 2000) }) },
  ]
}

async function sendNow(client: pg.ClientBase, { text, values, isSimple, isUnnamed }: Statement) {
  try {
    const result = isSimple
      ? await client.query(text)
      : await client.query({ text, values, ...(isUnnamed ? {} : nameStatement(text)) })
    if (isUnreplicated(client)) throw new ConnectionFailure(new Error('not replicated'))
    // The driver answers several statements at once with a list, which its types do not tell.
    return Array.isArray(result) ? (result.at(-1) as pg.QueryResult) : result
  } catch (error) {
    throw isOfServer(error) || error instanceof ConnectionFailure ? error : new ConnectionFailure(error)
  }
}

/** One that a circle of locks ended is undone as a whole, and sent again like a transaction. */
async function sendAlone(pool: pg.Pool, choice: HostChoice, statement: Statement, times: number) {
  return await repeat(() => sendOnce(pool, choice, statement), times)
}

/** A statement that failed leaves no connection behind: its server may have been replaced as the primary. */
async function sendOnce(pool: pg.Pool, choice: HostChoice, statement: Statement) {
  const client = await takeConnection(pool, choice)
  try {
    const result = await send(client, statement)
    client.release()
    return result
  } catch (error) {
    client.release(true)
    throw error
  }
}

/**
 * Each failed connection passes the turn to the next host, so that as many attempts as hosts have tried them all. A
 * connection whose server was not seen as the primary for some seconds is replaced by one that is checked.
 */
export async function takeConnection(pool: pg.Pool, choice: HostChoice): Promise<pg.PoolClient> {
  nestedUse?.refuse(pool)
  for (let left = choice.count - 1; ; left--) {
    try {
      const client = await pool.connect()
      const connection = connectionOf(client)
      if (!connection || choice.trusts(connection)) return client
      client.release(true)
      left++
    } catch (error) {
      if (left === 0) throw isOfServer(error) ? error : new ConnectionFailure(error)
    }
  }
}

/** Any other rejection of the driver is a lost or refused connection, but for values it cannot encode. */
function isOfServer(error: unknown): boolean {
  return error instanceof pg.DatabaseError || error instanceof TypeError || error instanceof RangeError
}

/** A transaction that hangs must not keep the service from stopping; the server undoes it. */
function giveUp(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, closeTimeoutMs).unref())
}

async function repeat<T>(run: () => Promise<T>, times = attempts): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await run()
    } catch (error) {
      const isWorthAnother = renameIfStale(error) || isRetryable(error)
      if (!isWorthAnother || attempt === times) throw error
      await new Promise((resolve) => setTimeout(resolve, Math.random() * 10 * 2 ** attempt))
    }
  }
}

// The driver's types list scalar types alone.
const parseTextArray = pg.types.getTypeParser(1009 as Parameters<typeof pg.types.getTypeParser>[0])

const parsers: Record<number, (text: string) => unknown> = {
  // int8: a number while that is exact, else the text, so that a large sum is not rounded. Our identities and revisions
  // never grow that large.
  20: parseInteger,
  1016: (text) => parseIntegers(text),
  // date and timestamp have no time zone, and no Date without one: they stay text.
  1082: (text) => text,
  1114: (text) => text,
}

function chooseParser(oid: number, format?: 'text' | 'binary') {
  return parsers[oid] ?? pg.types.getTypeParser(oid, format)
}

function parseInteger(text: string): number | string {
  return Number.isSafeInteger(Number(text)) ? Number(text) : text
}

function parseIntegers(text: string): unknown[] {
  const texts: unknown[] = parseTextArray(text)
  return texts.map((item) => (typeof item === 'string' ? parseInteger(item) : item))
}
