import type { MaskedRelation } from '../../contracts/role-masks.ts'
import { quoteQualified } from '../../db/quote.ts'
import { writeFields } from '../../wire/messages.ts'

/** Notices that a session reads masked values, one for each relation. */
export class MaskNotices {
  readonly #write: (text: string) => Buffer
  readonly #told = new Set<string>()
  #pending: Buffer[] = []

  /** `write` returns a text in the client's encoding. */
  constructor(write: (text: string) => Buffer) {
    this.#write = write
  }

  note(masked: readonly MaskedRelation[]): void {
    for (const { schema, name, twin } of masked) {
      const relation = quoteQualified(schema, name)
      if (this.#told.has(relation)) continue
      this.#told.add(relation)
      const field = (text: string) => this.#write(text).toString('latin1')
      this.#pending.push(
        writeFields('N', [
          ['S', 'NOTICE'],
          ['V', 'NOTICE'],
          ['C', '00000'],
          ['M', field(`${relation} shows masked values to your role`)],
          ['H', field(`\\d+ ${quoteQualified(twin.schema, twin.name)} shows which columns are masked.`)],
        ]),
      )
    }
  }

  /** Notices that the client has not been sent yet. The server may be in the middle of a message: it goes before the next one. */
  take(): Buffer | undefined {
    if (this.#pending.length === 0) return undefined
    const notices = Buffer.concat(this.#pending)
    this.#pending = []
    return notices
  }
}
