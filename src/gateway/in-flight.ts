import { readFields, writeFields } from '../wire/messages.ts'
import { mapPosition, type Rewritten } from './map-position.ts'

interface Sent {
  /** ReadyForQuery will answer it. */
  readonly ends: boolean
  readonly rewritten: Rewritten | undefined
  /** The client does not know of it. */
  readonly isOurs?: true
}

/** A pipeline that never runs empty is cut from time to time. */
const compactAt = 1_000

const last: Sent = { ends: true, rewritten: undefined }
const parse: Sent = { ends: false, rewritten: undefined }
const own: Sent = { ends: true, rewritten: undefined, isOurs: true }

/** What the database has not answered yet, to tell which statement an error is about. */
export class InFlight {
  #sent: Sent[] = []
  /** How many of them were answered. */
  #done = 0

  get isEmpty(): boolean {
    return this.#sent.length === 0
  }

  /** A message that ReadyForQuery will answer. */
  sendLast(rewritten?: Rewritten): void {
    this.#sent.push(rewritten ? { ends: true, rewritten } : last)
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
    if (this.#done === this.#sent.length) this.#sent.length = 0
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
