import { joinFrame, type Splice } from '../../sql/splice.ts'
import { findText, message } from '../../wire/messages.ts'
import type { Moved } from './session-texts.ts'

/** A Parse message of the client, and what became of its text. */
export interface PreparedText {
  readonly name: string
  readonly parse: Buffer
  readonly splices: readonly Splice[]
  /** Of the masks under which it was looked at. */
  readonly version: number
  /** Stands for the settings that say how its bytes are read; undefined: it means the same by all of them. */
  readonly reading: string | undefined
}

/** The same statement, prepared again as the masks are now. */
export interface Renewal {
  readonly name: string
  /** Undefined: its text goes to the database as it is. */
  readonly moved: Moved | undefined
  /** What to send before it is used; undefined: the database has it so. */
  readonly messages: Buffer | undefined
}

/** PostgreSQL tells names apart by no more. */
const maxNameBytes = 63
/** What a session makes us hold. Older ones beyond are denied after a change of masks, until the client prepares them again. */
const maxHeldBytes = 1 << 20
/** What one costs beside its bytes. */
const entryBytes = 300

export function heldSize({ parse }: PreparedText): number {
  return parse.length + entryBytes
}

/**
 * The named statements of a session as the client wrote them. Whoever prepares once and runs for days, as pools do, is not to
 * notice that a table got its first rule or lost its last one: what was prepared for the old masks is prepared again.
 */
export class PreparedTexts {
  readonly #byName = new Map<string, PreparedText>()
  readonly #old = new Set<string>()
  /** Sent again, so many times; the database has not said yet that it took them. */
  readonly #sent = new Map<string, number>()
  /** Those that it may not have, for that reason. */
  readonly #missing = new Set<string>()
  /** The client has sent their end, and the database has not said so yet. */
  readonly #closing = new Set<string>()
  #heldBytes = 0
  #version: number

  constructor(version: number) {
    this.#version = version
  }

  /** Asked for every execution. */
  isCurrent(version: number): boolean {
    if (version === this.#version) return this.#old.size === 0
    this.#version = version
    for (const name of this.#byName.keys()) this.#old.add(name)
    return this.#old.size === 0
  }

  /** The database took it. */
  keep(text: PreparedText): void {
    this.close(text.name)
    this.#heldBytes += heldSize(text)
    this.#byName.set(keyOf(text.name), text)
    if (text.version !== this.#version) this.#old.add(keyOf(text.name))
    for (const [oldest] of this.#byName) {
      if (this.#heldBytes <= maxHeldBytes) break
      this.close(oldest)
    }
  }

  /** The database has it no more. */
  close(name: string): void {
    const key = keyOf(name)
    const text = this.#byName.get(key)
    if (text) this.#heldBytes -= heldSize(text)
    for (const names of [this.#byName, this.#old, this.#sent, this.#missing, this.#closing]) names.delete(key)
  }

  /** The client wants it closed: by its name it means another one from now on. */
  sendClose(name: string): void {
    this.#closing.add(keyOf(name))
  }

  /** Nobody knows which of them the database still has, or has by another text. */
  clear(): void {
    for (const name of [...this.#byName.keys()]) this.close(name)
  }

  /** Whether the client is about to use a statement that was prepared for other masks; `rewrite` says how it has to be now. */
  renew(
    name: string,
    reading: string,
    rewrite: (bytes: Buffer, from: number, to: number) => Moved | undefined,
  ): Renewal | undefined {
    const key = keyOf(name)
    const text = this.#old.has(key) && !this.#closing.has(key) ? this.#byName.get(key) : undefined
    if (!text) return undefined
    this.#old.delete(key)
    // By the settings of now it would be another statement.
    if (text.reading !== undefined && text.reading !== reading) {
      this.close(name)
      return undefined
    }
    const { from, to } = findText(text.parse)
    const moved = rewrite(text.parse, from, to)
    const splices = moved?.splices ?? []
    if (!this.#missing.has(key) && isSame(splices, text.splices)) return { name, moved, messages: undefined }
    this.#sent.set(key, (this.#sent.get(key) ?? 0) + 1)
    this.#missing.add(key)
    this.#byName.set(key, { ...text, splices, version: this.#version })
    const parse = joinFrame(text.parse, 0, from, text.parse.length, splices)
    parse.writeUInt32BE(parse.length - 1, 1)
    const close = message('C', 'S', Buffer.from(`${name}\0`, 'latin1'))
    return { name, moved, messages: Buffer.concat([close, parse]) }
  }

  /** The database took one that was sent again. */
  taken(name: string): void {
    const key = keyOf(name)
    const left = (this.#sent.get(key) ?? 0) - 1
    this.#sent.set(key, left)
    if (left === 0) this.#missing.delete(key)
  }

  /** What comes now is not skipped with what came before: what was not taken is sent once more when it is used. */
  settle(): void {
    for (const name of this.#missing) this.#old.add(name)
  }

  /** Nothing is under way: what has not happened will not. */
  end(): void {
    this.settle()
    this.#sent.clear()
    this.#closing.clear()
  }
}

function keyOf(name: string): string {
  return name.slice(0, maxNameBytes)
}

function isSame(some: readonly Splice[], others: readonly Splice[]): boolean {
  return (
    some.length === others.length &&
    some.every(({ from, to, text }, at) => {
      const other = others[at]
      return other !== undefined && from === other.from && to === other.to && text.equals(other.text)
    })
  )
}
