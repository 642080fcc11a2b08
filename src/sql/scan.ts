/** What `scan` tells apart. A plain string has no letters before its quote. */
export type Piece = 'word' | 'number' | 'parameter' | 'plain string' | 'string' | 'name' | 'sign'

const apostrophe = 0x27
const quote = 0x22
const backslash = 0x5c
const dollarTag = /\$(?:[a-z_\u0080-\uffff][\w\u0080-\uffff]*)?\$/iy
const continued = /[ \t\n\r\f\v]*[\n\r][ \t\n\r\f\v]*'/y

/**
 * Calls `visit` for each piece of a text as PostgreSQL's lexer would cut it, without spaces and comments. `hasEscapes`:
 * backslashes count in plain strings. False: it is not certain where a piece ends, or `visit` said that this is enough.
 */
export function scan(
  text: string,
  hasEscapes: boolean,
  visit: (piece: Piece, from: number, to: number) => boolean | undefined,
): boolean {
  let at = 0
  while (at < text.length) {
    const from = at
    const code = text.charCodeAt(at)
    const next = text.charCodeAt(at + 1)
    let piece: Piece = 'sign'
    if (isSpace(code)) {
      at++
      continue
    }
    if (code === 0x2d && next === code) {
      at = endOfLine(text, at)
      continue
    }
    if (code === 0x2f && next === 0x2a) {
      at = endOfComment(text, at)
      if (at < 0) return false
      continue
    }
    if (isLetter(code)) {
      at = endOfWord(text, at, 0x24)
      const isQuoted = text.charCodeAt(at) === apostrophe
      const isUnicode = at - from === 1 && text[at] === '&' && /['"]/.test(text[at + 1] ?? '')
      if (at - from > 1 || !(isQuoted || isUnicode)) piece = 'word'
      else if (isUnicode && /u/i.test(text[from] ?? '')) {
        piece = text.charCodeAt(at + 1) === quote ? 'name' : 'string'
        // A string of this kind is refused where backslashes count.
        if (piece === 'string' && hasEscapes) return false
        at = endOfQuoted(text, at + 1, false)
      } else if (isQuoted && /[ebx]/i.test(text[from] ?? '')) {
        piece = 'string'
        at = endOfQuoted(text, at, /e/i.test(text[from] ?? ''))
      } else piece = 'word'
      // The next line of such a string is read like its first one, and looks like a plain one.
      if (at < 0 || (piece === 'string' && match(continued, text, at) > at)) return false
    } else if (isDigit(code)) {
      piece = 'number'
      at = endOfWord(text, at, 0x2e)
      if (text.charCodeAt(at) === apostrophe) return false
    } else if (code === apostrophe || code === quote) {
      piece = code === quote ? 'name' : 'plain string'
      at = endOfQuoted(text, at, code === apostrophe && hasEscapes)
      if (at < 0) return false
    } else if (code === 0x24 && isDigit(next)) {
      piece = 'parameter'
      at = endOfWord(text, at + 1, 0x2e)
    } else if (code === 0x24) {
      const end = match(dollarTag, text, at)
      if (end === at) return false
      const close = text.indexOf(text.slice(at, end), end)
      if (close < 0) return false
      piece = 'string'
      at = close + end - at
    } else at++
    if (visit(piece, from, at) === false) return false
  }
  return true
}

/** Letters, digits, underscores and one sign more. */
function endOfWord(text: string, from: number, sign: number): number {
  let at = from
  for (; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (!isLetter(code) && !isDigit(code) && code !== sign) break
  }
  return at
}

function match(pattern: RegExp, text: string, at: number): number {
  pattern.lastIndex = at
  return pattern.test(text) ? pattern.lastIndex : at
}

/** -1: it has no end. */
function endOfQuoted(text: string, from: number, hasEscapes: boolean): number {
  const mark = text.charCodeAt(from)
  if (!hasEscapes) {
    const sign = String.fromCharCode(mark)
    for (let at = from + 1; ; at += 2) {
      at = text.indexOf(sign, at)
      if (at < 0) return -1
      if (text.charCodeAt(at + 1) !== mark) return at + 1
    }
  }
  for (let at = from + 1; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === backslash || (code === mark && text.charCodeAt(at + 1) === mark)) at++
    else if (code === mark) return at + 1
  }
  return -1
}

function endOfLine(text: string, from: number): number {
  let at = from
  while (at < text.length && text[at] !== '\n' && text[at] !== '\r') at++
  return at
}

function endOfComment(text: string, from: number): number {
  const sign = /\/\*|\*\//g
  sign.lastIndex = from
  let depth = 0
  for (let found = sign.exec(text); found; found = sign.exec(text)) {
    depth += found[0] === '/*' ? 1 : -1
    if (depth === 0) return sign.lastIndex
  }
  return -1
}

function isSpace(code: number): boolean {
  return code === 0x20 || (code >= 0x09 && code <= 0x0d)
}

function isDigit(code: number): boolean {
  return code >= 0x30 && code <= 0x39
}

function isLetter(code: number): boolean {
  return (code >= 0x61 && code <= 0x7a) || (code >= 0x41 && code <= 0x5a) || code === 0x5f || code >= 0x80
}
