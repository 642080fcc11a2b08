import * as characters from './characters.ts'
import { findNumberEnd } from './number-end.ts'
import type { Splice } from './splice.ts'

/** A text with every number and string in it made the same, so that ad hoc statements share one. */
export interface Template {
  /** Its text stands there, until the next one is made. */
  readonly bytes: Buffer
  readonly length: number
  /** Strings in it have letters beyond ASCII: where they end is certain in UTF-8 alone. */
  readonly hasLetters: boolean
  /** Bytes of the longest word or string. */
  readonly longest: number
  readonly hasLiterals: boolean
}

/** Of a number with an exponent, a prefix or underscores. Texts with longer ones have no template. */
const maxNumberBytes = 64

/** Longer texts have none: they seldom come again. */
export const maxTemplateBytes = 4_096

/** Constants of this file: they are looked at for every byte of every statement. */
const plain = 1
const word = 2
const digit = 3
const quote = 4
const name = 5
const dash = 6
const slash = 7
const dot = 8
const dollar = 9
const ampersand = 10

/** The kind of token that a byte can begin. 0: one whose end only a parser can find. */
const kinds = new Uint8Array(256)
const kindOfClass = new Map([
  [characters.space, plain],
  [characters.sign, plain],
  [characters.letter, word],
  [characters.digit, digit],
  [characters.apostrophe, quote],
  [characters.quote, name],
  [characters.dash, dash],
  [characters.slash, slash],
  [characters.dot, dot],
  [characters.dollar, dollar],
  [characters.ampersand, ampersand],
])
for (let code = 0; code < 0x80; code++)
  if (!'\f\v\\'.includes(String.fromCharCode(code)))
    kinds[code] = kindOfClass.get(characters.classOf(code)) ?? 0

const quoteCode = 0x27
const backslashCode = 0x5c
const starCode = 0x2a
const dotCode = 0x2e
const one = 0x31
const letterA = 0x61

/** Reused: a text is read from its first to its last byte without a break. A literal of two bytes becomes one of three. */
const written = Buffer.alloc(2 * maxTemplateBytes)
/** Where the literals of the last text end in its template, and by how much everything after them is shifted. */
const ends = new Int32Array(maxTemplateBytes)
const shifts = new Int32Array(maxTemplateBytes)
let literals = 0

/**
 * Undefined: the text has no template, for comments, escapes, dollar quotes and other letters in it decide where a literal
 * ends. It is read byte by byte and once: this happens for every statement.
 */
export function findTemplate(bytes: Buffer, from: number, to: number): Template | undefined {
  if (to - from > maxTemplateBytes) return undefined
  literals = 0
  let hasLetters = false
  let longest = 0
  let out = 0
  let at = from
  while (at < to) {
    const code = bytes[at] ?? 0
    const start = at
    switch (kinds[code]) {
      case plain:
        written[out++] = code
        at++
        continue
      case word:
        while (at < to && isWordPart(bytes[at] ?? 0)) written[out++] = bytes[at++] ?? 0
        break
      case digit:
        at = endOfNumber(bytes, at, to)
        if (at < 0) return undefined
        written[out++] = one
        endLiteral(out, at - from)
        break
      case dot:
        at++
        if (kinds[bytes[at] ?? 0] === digit && at < to) {
          if (start > from && isWordPart(bytes[start - 1] ?? 0)) return undefined
          at = endOfNumber(bytes, at, to)
          if (at < 0) return undefined
          written[out++] = one
          endLiteral(out, at - from)
        } else written[out++] = code
        break
      case quote:
        for (at++; ; at++) {
          const inside = bytes[at] ?? 0
          if (at >= to || inside === backslashCode) return undefined
          if (inside === quoteCode) {
            if (bytes[at + 1] !== quoteCode || at + 1 >= to) break
            at++
          } else if (inside >= 0x80) hasLetters = true
        }
        at++
        written[out++] = quoteCode
        written[out++] = letterA
        written[out++] = quoteCode
        endLiteral(out, at - from)
        break
      case name:
        written[out++] = code
        for (at++; ; at++) {
          const inside = bytes[at] ?? 0
          if (at >= to || inside >= 0x80 || inside < 0x20 || inside === backslashCode) return undefined
          written[out++] = inside
          if (inside !== code) continue
          if (bytes[at + 1] !== code || at + 1 >= to) break
          written[out++] = code
          at++
        }
        at++
        break
      case dollar:
        // A parameter, and no dollar quote.
        if (kinds[bytes[at + 1] ?? 0] !== digit || at + 1 >= to) return undefined
        do written[out++] = bytes[at++] ?? 0
        while (at < to && kinds[bytes[at] ?? 0] === digit)
        break
      case dash:
        if (bytes[at + 1] === code) return undefined
        written[out++] = code
        at++
        break
      case slash:
        if (bytes[at + 1] === starCode) return undefined
        written[out++] = code
        at++
        break
      case ampersand:
        if (((bytes[at - 1] ?? 0) | 0x20) === 0x75) return undefined
        written[out++] = code
        at++
        break
      default:
        return undefined
    }
    if (at - start > longest) longest = at - start
  }
  return { bytes: written, length: out, hasLetters, longest, hasLiterals: literals > 0 }
}

/** From the template of the text that was read last to that text. */
export function placeSplices(splices: readonly Splice[]): Splice[] {
  return splices.map(({ from, to, text }) => ({ from: place(from), to: place(to), text }))
}

function place(at: number): number {
  let last = literals - 1
  while (last >= 0 && (ends[last] ?? 0) > at) last--
  return at + (shifts[last] ?? 0)
}

function endLiteral(inTemplate: number, inText: number): void {
  ends[literals] = inTemplate
  shifts[literals++] = inText - inTemplate
}

function isWordPart(code: number): boolean {
  const kind = kinds[code]
  return kind === word || kind === digit
}

/** -1: it is not certain where the number ends. */
function endOfNumber(bytes: Buffer, from: number, to: number): number {
  let at = endOfDigits(bytes, from, to)
  if (at < to && bytes[at] === dotCode) at = endOfDigits(bytes, at + 1, to)
  const next = at < to ? kinds[bytes[at] ?? 0] : plain
  if (next !== word && next !== dot) return at
  const piece = bytes.toString('latin1', from, Math.min(to, from + maxNumberBytes))
  const end = findNumberEnd(piece, 0)
  return end < 0 || end === maxNumberBytes ? -1 : from + end
}

function endOfDigits(bytes: Buffer, from: number, to: number): number {
  let at = from
  while (at < to && kinds[bytes[at] ?? 0] === digit) at++
  return at
}
