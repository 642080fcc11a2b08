import { fail } from './problem.ts'

/** Limits of one JSON text. Reading stops at the first value beyond, so a text costs no more than its limits. */
export interface JsonLimits {
  readonly depth: number
  readonly keys: number
  readonly values: number
}

export const jsonLimits: JsonLimits = { depth: 64, keys: 5_000, values: 20_000 }

/**
 * Parses JSON as strictly as a service that stores what it reads must: a key given twice is refused (which of the
 * two was meant?), depth, keys and values are bounded, and the key that reaches the prototype of an object is refused.
 */
export function parseJson(text: string): unknown {
  new JsonMeter().add(Buffer.from(text))
  return parseMetered(text)
}

/**
 * As `parseJson`, for a text that a `JsonMeter` has passed already. `names`: the only keys that it may have after as many as
 * usual. Objects of ever new keys take the parser many times longer than those of a document.
 */
export function parseMetered(text: string, names: ReadonlySet<string> | null = null): unknown {
  try {
    if (!isPlain(text)) scan(text, names)
    return JSON.parse(text)
  } catch (error) {
    if (error instanceof SyntaxError)
      fail('MalformedJson', { reason: 'it cannot be parsed' }, { cause: error })
    throw error
  }
}

/** True for a short text with one key at most, and that spelled as it is: nothing in it can be there twice. */
function isPlain(text: string): boolean {
  if (text.length > 200) return false
  let keys = 0
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === codes.colon) keys++
    else if (code === codes.backslash || code === codes.underscore) return false
  }
  return keys <= 1
}

/** Counts what a JSON text holds while it arrives in pieces, and fails at the first value beyond a limit. */
export class JsonMeter {
  readonly #limits: JsonLimits
  #depth = 0
  #keys = 0
  #values = 0
  #isString = false
  #isEscaped = false

  constructor(limits = jsonLimits) {
    this.#limits = limits
  }

  add(bytes: Uint8Array): void {
    // Copies in variables: this runs for every byte of a body.
    let isString = this.#isString
    let isEscaped = this.#isEscaped
    for (let at = 0; at < bytes.length; at++) {
      const byte = bytes[at] as number
      if (isEscaped) isEscaped = false
      else if (byte === codes.quote) isString = !isString
      else if (isString) isEscaped = byte === codes.backslash
      else this.#count(byte)
    }
    this.#isString = isString
    this.#isEscaped = isEscaped
  }

  #count(byte: number): void {
    switch (byte) {
      case codes.brace:
      case codes.bracket:
        if (++this.#depth > this.#limits.depth)
          refuse(`it is nested deeper than ${this.#limits.depth} levels`)
        this.#countValue()
        return
      case codes.closingBrace:
      case codes.closingBracket:
        this.#depth--
        return
      case codes.comma:
        this.#countValue()
        return
      case codes.colon:
        if (++this.#keys > this.#limits.keys) refuse(`it has more than ${this.#limits.keys} keys`)
    }
  }

  #countValue(): void {
    if (++this.#values > this.#limits.values) refuse(`it has more than ${this.#limits.values} values`)
  }
}

/** Walks the text once, with the keys seen so far of each open object on a stack. JSON.parse checks the grammar. */
function scan(text: string, names: ReadonlySet<string> | null): void {
  let count = 0
  const open: (Set<string> | null)[] = []
  let string = { from: 0, to: 0 }
  for (let at = 0; at < text.length; at++) {
    switch (text.charCodeAt(at)) {
      case codes.quote:
        string = { from: at, to: findEnd(text, at) }
        at = string.to - 1
        break
      case codes.brace:
        open.push(new Set())
        break
      case codes.bracket:
        open.push(null)
        break
      case codes.closingBrace:
      case codes.closingBracket:
        open.pop()
        break
      case codes.colon:
        noteKey(open.at(-1), text.slice(string.from, string.to), ++count > jsonLimits.keys ? names : null)
    }
  }
}

const codes = {
  quote: 0x22,
  comma: 0x2c,
  backslash: 0x5c,
  colon: 0x3a,
  underscore: 0x5f,
  bracket: 0x5b,
  closingBracket: 0x5d,
  brace: 0x7b,
  closingBrace: 0x7d,
} as const

/** The index behind the quote that ends the string; that of the end of the text where none does. */
function findEnd(text: string, start: number): number {
  for (let quote = text.indexOf('"', start + 1); quote >= 0; quote = text.indexOf('"', quote + 1)) {
    let slashes = 0
    while (text[quote - 1 - slashes] === '\\') slashes++
    if (slashes % 2 === 0) return quote + 1
  }
  return text.length
}

function noteKey(
  keys: Set<string> | null | undefined,
  quoted: string,
  names: ReadonlySet<string> | null,
): void {
  if (!keys) return
  const key: string = quoted.includes('\\') ? JSON.parse(quoted) : quoted.slice(1, -1)
  if (names && !names.has(key))
    refuse(`it has more than ${jsonLimits.keys} keys, and '${key.slice(0, 100)}' is unknown`)
  if (key === '__proto__') refuse("the key '__proto__' is not allowed")
  if (keys.has(key)) refuse(`the key '${key.slice(0, 100)}' is given twice`)
  keys.add(key)
}

function refuse(reason: string): never {
  return fail('MalformedJson', { reason })
}
