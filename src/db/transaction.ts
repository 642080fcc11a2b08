import { pipeline } from 'node:stream/promises'
import pg from 'pg'
import { from as copyFrom, to as copyTo } from 'pg-copy-streams'
import { codeOf, sqlstate } from '../kernel/sqlstate.ts'
import { isUnreplicated } from './driver-options.ts'
import { createSql, type Run, type Sql, type Statement } from './sql.ts'
import { ConnectionFailure } from './sqlstate.ts'

/** The statements of one transaction. */
export type Tx = Sql & {
  /** Undoes its own statements alone when `run` fails. */
  savepoint<T>(run: (tx: Tx) => Promise<T>): Promise<T>
  /** The same for statements that are sent as one message. */
  attempt(text: string): Promise<void>
  /** Sends rows to a `copy … from stdin` statement, in the format that the statement names. */
  copy(statement: string, chunks: Chunks): Promise<void>
  /** Hands what a `copy … to stdout` statement sends to `take`, piece by piece. */
  copyOut(statement: string, take: (chunk: Buffer) => void | Promise<void>): Promise<void>
}

type Chunks = Iterable<string | Buffer> | AsyncIterable<string | Buffer>

export interface TransactionOptions {
  /**
   * Statements that do not wait for one another share a round trip: the server may be far away. None of them is a COPY. The
   * first one shares that of BEGIN, and has to be one that may run where that failed.
   */
  readonly isPipelined?: boolean
}

type Send = (client: pg.ClientBase, statement: Statement) => ReturnType<Run>

export async function runTransaction<T>(
  client: pg.PoolClient,
  send: Send,
  run: (tx: Tx) => Promise<T>,
  { isPipelined = false }: TransactionOptions = {},
): Promise<T> {
  const session = openSession(client, send, isPipelined)
  try {
    const result = await run(session.tx)
    const { command } = await session.send('commit')
    // The server answers COMMIT with a rollback when a statement has failed, whatever became of that statement's error.
    if (command !== 'COMMIT') throw new Error('an error inside the transaction was caught, and undid it')
    return result
  } catch (error) {
    await session.rollBack(error)
    throw error
  } finally {
    session.close()
  }
}

/** The driver stops the clock of a statement by a callback, which a stream does not call. Its error would come much later. */
function endTimeLimit(stream: object & { callback?: () => void }): void {
  stream.callback?.()
}

/**
 * Ends a connection whose COPY has failed for another reason than an answer of the server, which may go on sending rows. The driver
 * would read them for a stream that is gone, and throw out of reach of its caller.
 */
function endConnection(client: pg.PoolClient, reason: unknown): void {
  if (reason instanceof pg.DatabaseError) return
  Reflect.get(client, 'connection').stream.destroy(reason instanceof Error ? reason : undefined)
}

/** The driver looks at it with each statement. It changes between two of them, when every one has been answered. */
function setPipelining(client: pg.PoolClient, isPipelined: boolean): void {
  Reflect.set(client, 'pipeline', isPipelined)
}

/** Begins a transaction. Its statements wait for that, and fail where it fails: none of them runs outside. */
function openSession(client: pg.PoolClient, send: Send, isPipelined: boolean) {
  setPipelining(client, isPipelined)
  let lost: Error | undefined
  let isOpen = true
  let hasBegun = false
  let hasSent = false
  let savepoints = 0
  const begun = send(client, { text: 'begin', values: [], isSimple: true }).then(() => {
    hasBegun = true
  })
  let last: Promise<unknown> = begun.catch(() => {})
  // The first one is the server's reason. The end of the connection, which follows, has none.
  const onError = (error: Error) => {
    lost ??= error
  }
  client.on('error', onError)

  /** A pipelined connection sends at once and answers in order. After a statement that failed PostgreSQL refuses the rest. */
  const inTurn = <T>(work: () => Promise<T>): Promise<T> => {
    // After the end another caller has the connection, and a late statement would run in that caller's transaction.
    if (!isOpen) return Promise.reject(new Error('the transaction is over'))
    if (lost) return Promise.reject(new ConnectionFailure(lost))
    const before = last
    const turn = isPipelined ? begun : begun.then(() => before)
    const isWithBegin = isPipelined && !hasSent
    hasSent = true
    const sent = isWithBegin || (isPipelined && hasBegun) ? work() : turn.then(work)
    const result = isWithBegin ? Promise.all([sent, begun]).then(([value]) => value) : sent
    last = result.catch(() => {})
    return result
  }
  const sendInTurn: Run = (statement) => inTurn(() => send(client, statement))
  const copyInTurn = (statement: string, chunks: Chunks) =>
    inTurn(() => pipeline(chunks, client.query(copyFrom(statement))))
  const copyOutInTurn = (statement: string, take: (chunk: Buffer) => void | Promise<void>) =>
    inTurn(async () => {
      const stream = client.query(copyTo(statement))
      const end = (error: unknown) => endConnection(client, error)
      stream.once('error', end)
      try {
        for await (const chunk of stream) await take(chunk as Buffer)
      } catch (error) {
        end(error)
        throw error
      } finally {
        endTimeLimit(stream)
      }
    })
  const sendText = (text: string) => sendInTurn({ text, values: [], isSimple: true })
  const tx: Tx = Object.assign(createSql(sendInTurn), {
    copy: copyInTurn,
    copyOut: copyOutInTurn,
    async savepoint<T>(run: (tx: Tx) => Promise<T>): Promise<T> {
      const name = begin()
      try {
        const result = await run(tx)
        await sendText(`release ${name}`)
        return result
      } catch (error) {
        await sendText(`rollback to ${name}`)
        throw error
      }
    },
    async attempt(text: string): Promise<void> {
      const name = begin()
      try {
        await sendText(`${text};\nrelease ${name}`)
      } catch (error) {
        await sendText(`rollback to ${name}`)
        throw error
      }
    },
  })
  /** Not waited for: without its savepoint every later statement fails. */
  const begin = (): string => {
    const name = `s${++savepoints}`
    sendText(`savepoint ${name}`).catch(() => {})
    return name
  }
  return {
    tx,
    send: sendText,
    /** A connection that cannot even do this is of no further use. */
    async rollBack(reason: unknown) {
      await sendText('rollback').catch((error: Error) => {
        lost ??= error
      })
      // The server has become a standby: the next connection may lead to the new primary.
      if (codeOf(reason) === sqlstate.readOnlyTransaction) lost ??= reason as Error
    },
    close() {
      isOpen = false
      client.off('error', onError)
      setPipelining(client, false)
      client.release(lost ?? isUnreplicated(client))
    },
  }
}
