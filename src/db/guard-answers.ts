import type { Duplex } from 'node:stream'

/** The server sent what no PostgreSQL sends, or more than is read of one answer. */
export class UnreadableAnswer extends Error {
  readonly code = 'EANSWER'

  constructor(cause?: unknown) {
    super('the server answers in a way that cannot be read', { cause })
  }
}

/** More than the catalog of a database with a million columns. The driver holds an answer as a whole. */
const mostBytes = 256 * 1024 * 1024

interface Connected {
  readonly connection: { attachListeners(stream: Duplex): void }
}

/**
 * For clients of servers that may be hostile: checks each message before the driver reads it. The driver throws out of reach of
 * its caller for many malformed messages, which would end the process, and never returns from some.
 */
export function guardAnswers(client: unknown): void {
  const { connection } = client as Connected
  const attach = connection.attachListeners.bind(connection)
  connection.attachListeners = (stream) => {
    attach(stream)
    const check = new AnswerCheck()
    for (const read of stream.listeners('data')) {
      stream.off('data', read as (chunk: Buffer) => void)
      stream.on('data', (chunk: Buffer) => {
        if (stream.destroyed) return
        try {
          check.push(chunk)
          read.call(stream, chunk)
        } catch (error) {
          stream.destroy(error instanceof UnreadableAnswer ? error : new UnreadableAnswer(error))
        }
      })
    }
  }
}

type ChooseParser = (oid: number, format?: 'text' | 'binary') => (text: string) => unknown

/**
 * For the same servers: refuses values that the store would refuse later, among those of others. No text of PostgreSQL holds
 * the character of the code 0 or half of a surrogate pair, and no jsonb an escape of either.
 */
export function guardValues(choose: ChooseParser): ChooseParser {
  return (oid, format) => {
    const parse = choose(oid, format)
    return (text) => {
      if (typeof text !== 'string') return parse(text)
      if (text.includes('\0')) throw new UnreadableAnswer()
      const value = parse(text)
      if (text.includes('\\u') && !isStorable(value)) throw new UnreadableAnswer()
      return value
    }
  }
}

/** Without recursion: the server decides how deep a value is. */
function isStorable(value: unknown): boolean {
  const left = [value]
  while (left.length > 0) {
    const each = left.pop()
    if (typeof each === 'string' && (each.includes('\0') || !each.isWellFormed())) return false
    if (typeof each === 'object' && each !== null) for (const pair of Object.entries(each)) left.push(...pair)
  }
  return true
}

const headBytes = 5
const error = 'E'.charCodeAt(0)
const notice = 'N'.charCodeAt(0)
const ready = 'Z'.charCodeAt(0)

/** Follows the messages of a server. Throws for an answer that is too long, and for errors and notices without an end. */
export class AnswerCheck {
  readonly #head = Buffer.alloc(headBytes)
  #headFilled = 0
  /** Bytes left of the present message. */
  #left = 0
  #received = 0
  /** In an error or a notice: what the next byte is. The driver reads on until the end of its fields. */
  #next: 'code' | 'text' | 'nothing' = 'nothing'

  push(chunk: Buffer): void {
    this.#received += chunk.length
    if (this.#received > mostBytes) throw new UnreadableAnswer()
    let at = 0
    while (at < chunk.length) {
      if (this.#left === 0) {
        const copied = chunk.copy(this.#head, this.#headFilled, at, at + headBytes - this.#headFilled)
        this.#headFilled += copied
        at += copied
        if (this.#headFilled < headBytes) return
        this.#begin()
      } else {
        const end = Math.min(chunk.length, at + this.#left)
        if (this.#isText()) this.#readFields(chunk, at, end)
        this.#left -= end - at
        at = end
      }
      if (this.#left === 0 && this.#headFilled === headBytes) this.#end()
    }
  }

  #isText(): boolean {
    return this.#head[0] === error || this.#head[0] === notice
  }

  #begin(): void {
    const length = this.#head.readUInt32BE(1)
    if (length < 4 || length > mostBytes) throw new UnreadableAnswer()
    this.#left = length - 4
    this.#next = 'code'
  }

  #readFields(chunk: Buffer, from: number, to: number): void {
    for (let at = from; at < to && this.#next !== 'nothing'; at++) {
      if (chunk[at] === 0) this.#next = this.#next === 'code' ? 'nothing' : 'code'
      else if (this.#next === 'code') this.#next = 'text'
    }
  }

  #end(): void {
    if (this.#isText() && this.#next !== 'nothing') throw new UnreadableAnswer()
    if (this.#head[0] === ready) this.#received = 0
    this.#headFilled = 0
  }
}
