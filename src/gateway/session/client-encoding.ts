import { isUtf8 } from 'node:buffer'
import { TextDecoder } from 'node:util'

/** How a client writes its texts. */
export interface ClientEncoding {
  /** Undefined: it is nothing in this encoding. */
  read(text: Buffer): ClientText | undefined
  /** Characters, as PostgreSQL counts them in positions of errors. */
  count(bytes: Buffer): number
  /** Rewrites UTF-8 text so that its bytes mean the same in this encoding; undefined: it cannot be written so. */
  write(text: Buffer): Buffer | undefined
}

export interface ClientText {
  readonly string: string
  /** From bytes of the string in UTF-8, in rising order, to bytes of the text. */
  place(offsets: readonly number[]): number[]
}

/** How many bytes the character has that begins here. PostgreSQL's lexer never looks into one of several. */
type Width = (bytes: Buffer, at: number) => number

const oneByte: Width = () => 1
const highTwo: Width = (bytes, at) => ((bytes[at] ?? 0) < 0x80 ? 1 : 2)
const shiftJis: Width = (bytes, at) => {
  const first = bytes[at] ?? 0
  return first < 0x80 || (first >= 0xa1 && first <= 0xdf) ? 1 : 2
}
const gb18030: Width = (bytes, at) => {
  if ((bytes[at] ?? 0) < 0x80) return 1
  const second = bytes[at + 1] ?? 0
  return second >= 0x30 && second <= 0x39 ? 4 : 2
}
const euc =
  (after8e: number): Width =>
  (bytes, at) => {
    const first = bytes[at] ?? 0
    if (first === 0x8e) return after8e
    return first === 0x8f ? 3 : first < 0x80 ? 1 : 2
  }

/** Parts of ISO 8859 behind PostgreSQL's LATIN1 to LATIN10. */
const latinParts = [1, 2, 3, 4, 9, 10, 13, 14, 15, 16]
const windowsPages = [1250, 1251, 1252, 1253, 1254, 1255, 1256, 1257, 1258]

/** By PostgreSQL's name; the last word is the WHATWG's, where they have one. */
const table: readonly (readonly [string, Width, string?])[] = [
  ['SJIS', shiftJis, 'shift_jis'],
  ['SHIFT_JIS_2004', shiftJis],
  ['BIG5', highTwo, 'big5'],
  ['GBK', highTwo, 'gbk'],
  ['UHC', highTwo, 'euc-kr'],
  ['GB18030', gb18030, 'gb18030'],
  ['JOHAB', euc(2)],
  ['EUC_JP', euc(2), 'euc-jp'],
  ['EUC_JIS_2004', euc(2)],
  ['EUC_CN', euc(2), 'gbk'],
  ['EUC_KR', euc(2), 'euc-kr'],
  ['EUC_TW', euc(4)],
  ['KOI8R', oneByte, 'koi8-r'],
  ['KOI8U', oneByte, 'koi8-u'],
  ['WIN866', oneByte, 'ibm866'],
  ['WIN874', oneByte, 'windows-874'],
  ...windowsPages.map((page) => [`WIN${page}`, oneByte, `windows-${page}`] as const),
  ...latinParts.map((part, index) => [`LATIN${index + 1}`, oneByte, `iso-8859-${part}`] as const),
  ...[5, 6, 7, 8].map((part) => [`ISO_8859_${part}`, oneByte, `iso-8859-${part}`] as const),
]
const encodings = new Map(table.map(([name, ...rest]) => [name, rest]))

/** Where no conversion takes place, the bytes are what the server takes them for. */
export function findEncoding(client: string, server: string): ClientEncoding | undefined {
  const name = (client === 'SQL_ASCII' ? server : client).toUpperCase()
  if (/^(UTF-?8|UNICODE)$/.test(name)) return utf8
  if (name === 'SQL_ASCII') return bytesAlone
  const found = encodings.get(name)
  return found && createEncoding(...found)
}

export const utf8: ClientEncoding = {
  read: (text) => (isUtf8(text) ? { string: text.toString(), place: (offsets) => [...offsets] } : undefined),
  count: countCharacters,
  write: (text) => text,
}

/** Neither side says what the letters are. Those of the names that we know came as UTF-8. */
const bytesAlone: ClientEncoding = {
  ...utf8,
  read: (text) => utf8.read(text) ?? createEncoding(oneByte).read(text),
  count: (bytes) => bytes.length,
}

function createEncoding(width: Width, label?: string): ClientEncoding {
  const decoder = label === undefined ? undefined : new TextDecoder(label, { fatal: true })
  return {
    read(text) {
      const pieces: string[] = []
      for (let at = 0; at < text.length; ) {
        let end = at
        while (end < text.length && (text[end] ?? 0) < 0x80) end++
        if (end > at) pieces.push(text.toString('latin1', at, end))
        if (end === text.length) break
        at = end + width(text, end)
        if (at > text.length) return undefined
        pieces.push(decodeLetter(text.subarray(end, at), decoder))
      }
      const string = pieces.join('')
      return { string, place: (offsets) => placeBytes(string, text, offsets, width) }
    },
    count(bytes) {
      let count = 0
      for (let at = 0; at < bytes.length; at += width(bytes, at)) count++
      return count
    },
    write: writeAscii,
  }
}

const unknown = '\ufffd'

/** A letter that we cannot tell is still a letter: the parser needs no more, and no name of ours has it. */
function decodeLetter(bytes: Buffer, decoder: TextDecoder | undefined): string {
  try {
    const letter = decoder?.decode(bytes) ?? ''
    // The WHATWG takes some parts of ISO 8859 for pages of Windows, which differ here.
    if (decoder && bytes.length === 1 && (bytes[0] ?? 0) < 0xa0 && isIsoLike(decoder)) return unknown
    return [...letter].length === 1 && letter >= '\u0080' ? letter : unknown
  } catch {
    return unknown
  }
}

function isIsoLike({ encoding }: TextDecoder): boolean {
  return /^(iso-8859|windows-125[24]$)/.test(encoding)
}

function placeBytes(string: string, text: Buffer, offsets: readonly number[], width: Width): number[] {
  const placed: number[] = []
  let inString = 0
  let inText = 0
  const letters = string[Symbol.iterator]()
  for (const offset of offsets) {
    while (inString < offset) {
      inString += Buffer.byteLength(letters.next().value ?? '\0')
      inText += width(text, inText)
    }
    placed.push(inText)
  }
  return placed
}

/** Letters beyond ASCII in quoted names by their code points, which every encoding has. */
function writeAscii(text: Buffer): Buffer | undefined {
  const written = text.toString().replace(/"(?:[^"]|"")*"/g, (name) => {
    if (!/[\u0080-\uffff]/.test(name)) return name
    const escaped = name.replaceAll('\\', '\\\\').replace(/[\u{80}-\u{10ffff}]/gu, (letter) => {
      const code = (letter.codePointAt(0) ?? 0).toString(16)
      return code.length > 4 ? `\\+${code.padStart(6, '0')}` : `\\${code.padStart(4, '0')}`
    })
    return `U&${escaped}`
  })
  return /[\u0080-\uffff]/.test(written) ? undefined : Buffer.from(written)
}

function countCharacters(bytes: Buffer): number {
  let count = 0
  for (const byte of bytes) if ((byte & 0xc0) !== 0x80) count++
  return count
}
