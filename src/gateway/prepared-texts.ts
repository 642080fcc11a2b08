import { findText, message } from '../wire/messages.ts'
import { joinFrame, type Splice } from './map-position.ts'
import type { Moved } from './session-texts.ts'

/** A Parse message of the client, and what became of its text. */
export interface PreparedText {
  readonly name: string
  readonly parse: Buffer
  readonly splices: readonly Splice[]
  /** Of the masks under which it was looked at. */
  readonly version: number
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
/** What a session makes us hold. Statements beyond are denied after a change of masks, until the client prepares them again. */
const maxHeldBytes = 1 << 20

/**
 * The named statements of a session as the client wrote them. Whoever prepares once and runs for days, as pools do, is not to
 * notice that a table got its first rule or lost its last one: what was prepared for the old masks is prepared again.
 */
export class PreparedTexts {
  readonly #byName = new Map<string, PreparedText>()
  readonly #old = new Set<string>()
  /** Sent again; the database has not said yet that it took them. */
  readonly #sent = new Set<string>()
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
    this.#drop(text.name)
    if (this.#heldBytes + text.parse.length > maxHeldBytes) return
    this.#heldBytes += text.parse.length
    this.#byName.set(keyOf(text.name), text)
    if (text.version !== this.#version) this.#old.add(keyOf(text.name))
  }

  /** The client closes it. */
  close(name: string): void {
    this.#drop(name)
  }

  /** Whether the client is about to use a statement that was prepared for other masks; `rewrite` says how it has to be now. */
  renew(
    name: string,
    rewrite: (bytes: Buffer, from: number, to: number) => Moved | undefined,
  ): Renewal | undefined {
    const key = keyOf(name)
    const text = this.#old.has(key) ? this.#byName.get(key) : undefined
    if (!text) return undefined
    this.#old.delete(key)
    const { from, to } = findText(text.parse)
    const moved = rewrite(text.parse, from, to)
    const splices = moved?.splices ?? []
    const isTaken = !this.#sent.has(key)
    if (isTaken && isSame(splices, text.splices)) return { name, moved, messages: undefined }
    this.#sent.add(key)
    this.#byName.set(key, { ...text, splices, version: this.#version })
    const parse = joinFrame(text.parse, 0, from, text.parse.length, splices)
    parse.writeUInt32BE(parse.length - 1, 1)
    const close = message('C', 'S', Buffer.from(`${name}\0`, 'latin1'))
    return { name, moved, messages: Buffer.concat([close, parse]) }
  }

  /** The database took one that was sent again. */
  taken(name: string): void {
    this.#sent.delete(keyOf(name))
  }

  /** Nothing is under way: what was not taken has failed, and is tried anew the next time. */
  settle(): void {
    for (const name of this.#sent) this.#old.add(name)
  }

  #drop(name: string): void {
    const key = keyOf(name)
    this.#heldBytes -= this.#byName.get(key)?.parse.length ?? 0
    this.#byName.delete(key)
    this.#old.delete(key)
    this.#sent.delete(key)
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
