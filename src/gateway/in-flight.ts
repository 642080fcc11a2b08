import { readFields, writeFields } from '../wire/messages.ts'
import { mapPosition, type Rewritten } from './map-position.ts'

interface Sent {
  /** ReadyForQuery will answer it. */
  readonly ends: boolean
  readonly rewritten: Rewritten | undefined
  /** The client does not know of it. */
  readonly isOurs?: true
  /** A Sync: nobody answers it while the database takes in a COPY. */
  readonly isSync?: true
  /** The client's end of a COPY; nobody answers that. */
  readonly endsCopy?: true
}

/** A pipeline that never runs empty is cut from time to time. */
const compactAt = 1_000

const last: Sent = { ends: true, rewritten: undefined }
const parse: Sent = { ends: false, rewritten: undefined }
const sync: Sent = { ends: true, rewritten: undefined, isSync: true }
const copyEnd: Sent = { ends: false, rewritten: undefined, endsCopy: true }
const own: Sent = { ends: true, rewritten: undefined, isOurs: true }

/** What the database has not answered yet, to tell which statement an error is about. */
export class InFlight {
  #sent: Sent[] = []
  /** How many of them were answered. */
  #done = 0
  /** The database takes in a COPY whose end the client has not sent. */
  #isCopying = false

  get isEmpty(): boolean {
    return this.#sent.length === 0
  }

  /** A message that ReadyForQuery will answer. */
  sendLast(rewritten?: Rewritten): void {
    this.#sent.push(rewritten ? { ends: true, rewritten } : last)
  }

  sendSync(): void {
    if (!this.#isCopying) this.#sent.push(sync)
  }

  sendCopyEnd(): void {
    if (!this.#isCopying && this.#sent.length > 0) this.#sent.push(copyEnd)
    this.#isCopying = false
  }

  /** The database takes in a COPY: every Sync up to the end of that is for nothing. */
  copying(): void {
    const pending = this.#sent.slice(this.#done)
    const end = pending.findIndex((one) => one.endsCopy)
    const during = end < 0 ? pending : pending.slice(0, end)
    this.#isCopying = end < 0
    this.#sent = [...during.filter((one) => !one.isSync), ...(end < 0 ? [] : pending.slice(end + 1))]
    this.#done = 0
  }

  /** An error ends it, too. */
  failed(): void {
    this.#isCopying = false
  }

  sendParse(rewritten: Rewritten | undefined): void {
    this.#sent.push(rewritten ? { ends: false, rewritten } : parse)
  }

  /** A statement of our own; its answer is for nobody. */
  sendOwn(): void {
    this.#sent.push(own)
  }

  get isOurs(): boolean {
    return this.#first?.isOurs === true
  }

  parsed(): void {
    if (this.#first?.ends === false) this.#finishFirst()
  }

  ready(): void {
    while (this.#first?.ends === false) this.#finishFirst()
    if (this.#first) this.#finishFirst()
  }

  get #first(): Sent | undefined {
    return this.#sent[this.#done]
  }

  #finishFirst(): void {
    this.#done++
    while (this.#sent[this.#done]?.endsCopy) this.#done++
    // Mostly there is one; emptied by its length, the array would be made anew for every statement.
    if (this.#sent.length === 1) this.#sent.pop()
    else if (this.#done === this.#sent.length) this.#sent.length = 0
    else if (this.#done < compactAt) return
    else this.#sent = this.#sent.slice(this.#done)
    this.#done = 0
  }

  /** The same error about the client's own text. */
  correct(error: Buffer): Buffer | undefined {
    const rewritten = this.#first?.rewritten
    if (!rewritten) return undefined
    const fields = readFields(error)
    return writeFields(
      'E',
      fields.map(([code, text]) =>
        code === 'P' ? [code, String(mapPosition(rewritten, Number(text)))] : [code, text],
      ),
    )
  }
}
