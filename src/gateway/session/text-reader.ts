import { isUtf8 } from 'node:buffer'
import { maskEscapes } from '../../sql/mask-escapes.ts'
import type { Splice } from '../../sql/splice.ts'
import { type ClientEncoding, type ClientText, findEncoding, utf8 } from './client-encoding.ts'

/** Those that the gateway goes by. Of others a hostile server could report any number. */
const known = [
  'client_encoding',
  'server_encoding',
  'standard_conforming_strings',
  'application_name',
  'is_superuser',
]

/** How the bytes of a session's texts become letters and back, by the settings that the server reports. */
export class TextReader {
  readonly #parameters: Map<string, string>
  #encoding: ClientEncoding | undefined
  /** Client and server use UTF-8: letters stay what they are. */
  isUtf8Alone = false

  constructor(parameters: ReadonlyMap<string, string>) {
    this.#parameters = new Map([...parameters].filter(([name]) => known.includes(name)))
    this.#encoding = this.#findEncoding()
  }

  setParameter(name: string, value: string): void {
    if (known.includes(name)) this.#parameters.set(name, value)
    if (name === 'client_encoding') this.#encoding = this.#findEncoding()
  }

  getParameter(name: string): string | undefined {
    return this.#parameters.get(name)
  }

  get isUtf8(): boolean {
    return this.#encoding === utf8
  }

  /** Stands for the settings by which bytes of a text are read. */
  get reading(): string {
    return `${this.#parameters.get('client_encoding')} ${this.#parameters.get('standard_conforming_strings')}`
  }

  /** The same for one text; undefined: every setting reads it alike. */
  readingOf(bytes: Buffer, from: number, to: number): string | undefined {
    return isPlain(bytes, from, to) ? undefined : this.reading
  }

  isUtf8Text(bytes: Buffer): boolean {
    return this.isUtf8 && isUtf8(bytes)
  }

  /** The text as the parser can read it: what it finds stands at the same places. Undefined: it cannot be read. */
  decode(text: Buffer): (ClientText & Pick<ClientEncoding, 'count'>) | undefined {
    const encoding = isAscii(text) ? utf8 : this.#encoding
    const read = encoding?.read(text)
    if (!encoding || !read) return undefined
    const isEscaped =
      this.#parameters.get('standard_conforming_strings') === 'off' && read.string.includes('\\')
    // Backslashes in plain strings would be read differently by the parser and by the server.
    const string = isEscaped ? maskEscapes(read.string) : read.string
    return string === undefined ? undefined : { string, place: read.place, count: encoding.count }
  }

  /** The splices in the client's encoding; undefined: it lacks one of their letters. */
  encode(splices: readonly Splice[]): Splice[] | undefined {
    const written: Splice[] = []
    for (const { from, to, text } of splices) {
      const own = isAscii(text) ? text : this.#encoding?.write(text)
      if (!own) return undefined
      written.push({ from, to, text: own })
    }
    return written
  }

  /** A message of the gateway's own; what an encoding other than UTF-8 may lack becomes a question mark. */
  writeMessage(text: string): Buffer {
    return Buffer.from(this.isUtf8 ? text : text.replaceAll(/[^ -~]/gu, '?'))
  }

  #findEncoding(): ClientEncoding | undefined {
    const client = this.#parameters.get('client_encoding') ?? 'UTF8'
    const server = this.#parameters.get('server_encoding') ?? 'UTF8'
    const encoding = findEncoding(client, server)
    this.isUtf8Alone = encoding === utf8 && findEncoding(server, server) === utf8
    return encoding
  }
}

/** The same text in every encoding, whether or not backslashes escape. */
export function isPlain(bytes: Buffer, from: number, to: number): boolean {
  for (let at = from; at < to; at++) {
    const code = bytes[at] ?? 0
    if (code >= 0x80 || code === 0x5c) return false
  }
  return true
}

function isAscii(bytes: Buffer): boolean {
  return bytes.every((byte) => byte < 0x80)
}
