import { readFields, writeFields } from '../wire/messages.ts'
import { mapPosition, type Rewritten } from './map-position.ts'

/** What the database has not answered yet, to tell which statement an error is about. */
export class InFlight {
  readonly #sent: { readonly ends: boolean; readonly rewritten: Rewritten | undefined }[] = []

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
