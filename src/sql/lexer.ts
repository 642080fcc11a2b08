import { apostrophe, classOf, dash, digit, dollar, letter, quote, slash, space } from './characters.ts'
import { findNumberEnd } from './number-end.ts'

/** A plain string has no letters before its quote. A sign is one character of an operator, or a bracket, comma or dot. */
export type Token = 'word' | 'number' | 'parameter' | 'plain string' | 'string' | 'name' | 'sign' | 'end'

const apostropheCode = 0x27
const quoteCode = 0x22
const backslashCode = 0x5c
const dollarCode = 0x24
const dollarTag = /\$(?:[a-z_\u0080-\uffff][\w\u0080-\uffff]*)?\$/iy
/** A string goes on after a line break, which comments may surround. */
const continued = /[ \t\f\v]*(?:--[^\n\r]*)?[\n\r](?:[ \t\n\r\f\v]|--[^\n\r]*[\n\r])*'/y

/**
 * Cuts a text into tokens where PostgreSQL's lexer would, without spaces and comments. The text may also be bytes of UTF-8
 * with one character for each: tokens then begin and end at the same bytes.
 */
export class Lexer {
  kind: Token = 'end'
  from = 0
  to: number
  /** False: it is not certain where the next token ends. */
  isCertain = true
  readonly #text: string
  readonly #hasEscapes: boolean

  /** `hasEscapes`: backslashes count in plain strings. */
  constructor(text: string, { at = 0, hasEscapes = false } = {}) {
    this.#text = text
    this.#hasEscapes = hasEscapes
    this.to = at
  }

  /** Steps to the next token. False: there is none, or it is not certain. */
  next(): boolean {
    const from = skipSpace(this.#text, this.to)
    const isLast = from === this.#text.length
    const to = from < 0 || isLast ? -1 : this.#findEnd(from)
    if (to < 0) {
      this.kind = 'end'
      this.isCertain &&= isLast
      return false
    }
    this.from = from
    this.to = to
    return true
  }

  /** The token is this one character. */
  is(character: string): boolean {
    return this.kind === 'sign' && this.#text[this.from] === character
  }

  /** The token is this word, whatever its case. */
  isWord(word: string): boolean {
    if (this.kind !== 'word' || this.to - this.from !== word.length) return false
    return this.#text.slice(this.from, this.to).toLowerCase() === word
  }

  #findEnd(from: number): number {
    const text = this.#text
    const next = text.charCodeAt(from + 1)
    switch (classOf(text.charCodeAt(from))) {
      case letter:
        return this.#findWordEnd(from)
      case digit: {
        this.kind = 'number'
        const end = findNumberEnd(text, from)
        return text.charCodeAt(end) === apostropheCode ? -1 : end
      }
      case apostrophe:
        this.kind = 'plain string'
        return endOfQuoted(text, from, this.#hasEscapes)
      case quote:
        this.kind = 'name'
        return endOfQuoted(text, from, false)
      case dollar:
        this.kind = classOf(next) === digit ? 'parameter' : 'string'
        return this.kind === 'parameter' ? endOfParameter(text, from) : endOfDollarQuoted(text, from)
      default:
        this.kind = 'sign'
        return from + 1
    }
  }

  /** A word, or a string or name that begins with one letter. */
  #findWordEnd(from: number): number {
    const text = this.#text
    this.kind = 'word'
    const end = endOfWord(text, from, dollarCode)
    if (end - from > 1) return end
    const prefix = text[from] ?? ''
    const code = text.charCodeAt(end)
    const marked = text.charCodeAt(end + 1)
    if (/u/i.test(prefix) && text[end] === '&' && (marked === apostropheCode || marked === quoteCode)) {
      this.kind = marked === quoteCode ? 'name' : 'string'
      if (marked === quoteCode) return endOfQuoted(text, end + 1, false)
      // PostgreSQL refuses such a string where backslashes count in plain ones.
      return this.#hasEscapes ? -1 : this.#findContinuedEnd(end + 1, false)
    }
    if (code !== apostropheCode || !/[ebx]/i.test(prefix)) return end
    this.kind = 'string'
    return this.#findContinuedEnd(end, /e/i.test(prefix))
  }

  /** The next line of such a string is read like its first one, and looks like a plain string. */
  #findContinuedEnd(from: number, hasEscapes: boolean): number {
    let end = endOfQuoted(this.#text, from, hasEscapes)
    while (end >= 0) {
      const next = match(continued, this.#text, end)
      if (next === end) return end
      if (this.#hasEscapes) return -1
      end = endOfQuoted(this.#text, next - 1, hasEscapes)
    }
    return end
  }
}

/** Where the next token begins; -1: in a comment that has no end. */
function skipSpace(text: string, from: number): number {
  let at = from
  for (; at < text.length; at++) {
    const kind = classOf(text.charCodeAt(at))
    if (kind === space) continue
    if (kind === dash && text[at + 1] === '-') at = endOfLine(text, at) - 1
    else if (kind === slash && text[at + 1] === '*') {
      const end = endOfComment(text, at)
      if (end < 0) return -1
      at = end - 1
    } else return at
  }
  return at
}

/** Letters, digits, underscores and one sign more. */
function endOfWord(text: string, from: number, more: number): number {
  let at = from
  for (; at < text.length; at++) {
    const code = text.charCodeAt(at)
    const kind = classOf(code)
    if (kind !== letter && kind !== digit && code !== more) break
  }
  return at
}

/** -1: a letter follows, which PostgreSQL to 14 reads as the next word. */
function endOfParameter(text: string, from: number): number {
  let at = from + 1
  while (classOf(text.charCodeAt(at)) === digit) at++
  return at < text.length && classOf(text.charCodeAt(at)) === letter ? -1 : at
}

function match(pattern: RegExp, text: string, at: number): number {
  pattern.lastIndex = at
  return pattern.test(text) ? pattern.lastIndex : at
}

/** -1: it has no end. */
function endOfQuoted(text: string, from: number, hasEscapes: boolean): number {
  const mark = text.charCodeAt(from)
  if (!hasEscapes) {
    const character = String.fromCharCode(mark)
    for (let at = from + 1; ; at += 2) {
      at = text.indexOf(character, at)
      if (at < 0) return -1
      if (text.charCodeAt(at + 1) !== mark) return at + 1
    }
  }
  for (let at = from + 1; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === backslashCode || (code === mark && text.charCodeAt(at + 1) === mark)) at++
    else if (code === mark) return at + 1
  }
  return -1
}

function endOfDollarQuoted(text: string, from: number): number {
  const end = match(dollarTag, text, from)
  if (end === from) return -1
  const close = text.indexOf(text.slice(from, end), end)
  return close < 0 ? -1 : close + end - from
}

function endOfLine(text: string, from: number): number {
  let at = from
  while (at < text.length && text[at] !== '\n' && text[at] !== '\r') at++
  return at
}

function endOfComment(text: string, from: number): number {
  const mark = /\/\*|\*\//g
  mark.lastIndex = from
  let depth = 0
  for (let found = mark.exec(text); found; found = mark.exec(text)) {
    depth += found[0] === '/*' ? 1 : -1
    if (depth === 0) return mark.lastIndex
  }
  return -1
}
