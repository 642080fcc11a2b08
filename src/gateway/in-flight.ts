import { readFields, writeFields } from '../wire/messages.ts'
import { mapPosition, type Rewritten } from './map-position.ts'

interface Sent {
  /** ReadyForQuery will answer it. */
  readonly ends: boolean
  readonly rewritten: Rewritten | undefined
  /** The client does not know of it. */
  readonly isOurs?: true
}

/** What the database has not answered yet, to tell which statement an error is about. */
export class InFlight {
  readonly #sent: Sent[] = []

  get isEmpty(): boolean {
    return this.#sent.length === 0
  }

  /** A message that ReadyForQuery will answer. */
  sendLast(rewritten?: Rewritten): void {
    this.#sent.push({ ends: true, rewritten })
  }

  sendParse(rewritten: Rewritten | undefined): void {
    this.#sent.push({ ends: false, rewritten })
  }

  /** A statement of our own; its answer is for nobody. */
  sendOwn(): void {
    this.#sent.push({ ends: true, rewritten: undefined, isOurs: true })
  }

  get isOurs(): boolean {
    return this.#sent[0]?.isOurs === true
  }

  parsed(): void {
    if (this.#sent[0]?.ends === false) this.#sent.shift()
  }

  ready(): void {
    while (this.#sent.length > 0 && this.#sent.shift()?.ends === false);
  }

  /** The same error about the client's own text. */
  correct(error: Buffer): Buffer | undefined {
    const rewritten = this.#sent[0]?.rewritten
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
