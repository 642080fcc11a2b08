import { refuseSql } from './refusal.ts'

const quote = 0x22
const apostrophe = 0x27
const dot = 0x2e

/** Where a name of so many parts ends that begins here: quoted or not, with spaces and comments between its parts. */
export function findNameEnd(bytes: Buffer, from: number, parts: number): number {
  let at = from
  for (let part = 1; ; part++) {
    at = findPartEnd(bytes, at)
    if (part === parts) return at
    at = skipSpace(bytes, at)
    if (bytes[at] !== dot) refuseSql('NameNotFound')
    at = skipSpace(bytes, at + 1)
  }
}

function findPartEnd(bytes: Buffer, from: number): number {
  const isUnicode = /^u&"/i.test(bytes.toString('latin1', from, from + 3))
  if (!isUnicode && bytes[from] !== quote) {
    let at = from
    while (at < bytes.length && isNameByte(bytes[at] ?? 0)) at++
    if (at === from) refuseSql('NameNotFound')
    return at
  }
  const end = skipQuoted(bytes, isUnicode ? from + 2 : from, quote)
  return isUnicode ? skipEscapeClause(bytes, end) : end
}

/** `U&"…" UESCAPE '!'` */
function skipEscapeClause(bytes: Buffer, from: number): number {
  const at = skipSpace(bytes, from)
  if (!/^uescape$/i.test(bytes.toString('latin1', at, at + 7))) return from
  const literal = skipSpace(bytes, at + 7)
  return bytes[literal] === apostrophe ? skipQuoted(bytes, literal, apostrophe) : from
}

function skipQuoted(bytes: Buffer, from: number, mark: number): number {
  let at = from + 1
  while (at < bytes.length) {
    if (bytes[at] !== mark) at++
    else if (bytes[at + 1] === mark) at += 2
    else return at + 1
  }
  return refuseSql('NameNotFound')
}

export function skipSpace(bytes: Buffer, from: number): number {
  let at = from
  for (;;) {
    const two = bytes.toString('latin1', at, at + 2)
    if (/^[ \t\n\r\f\v]/.test(two)) at++
    else if (two === '--') {
      while (at < bytes.length && bytes[at] !== 0x0a && bytes[at] !== 0x0d) at++
    } else if (two === '/*') at = skipComment(bytes, at)
    else return at
  }
}

function skipComment(bytes: Buffer, from: number): number {
  let at = from
  let depth = 0
  while (at < bytes.length) {
    const two = bytes.toString('latin1', at, at + 2)
    if (two === '/*') depth++
    if (two === '*/') depth--
    at += two === '/*' || two === '*/' ? 2 : 1
    if (depth === 0) return at
  }
  return at
}

/** The end of a list in parentheses of plain names that begins here, or undefined where there is none. */
export function findListEnd(bytes: Buffer, from: number): number | undefined {
  const start = skipSpace(bytes, from)
  if (bytes[start] !== 0x28) return undefined
  let at = skipSpace(bytes, start + 1)
  for (;;) {
    at = skipSpace(bytes, findPartEnd(bytes, at))
    if (bytes[at] === 0x29) return at + 1
    if (bytes[at] !== 0x2c) refuseSql('NameNotFound')
    at = skipSpace(bytes, at + 1)
  }
}

function isNameByte(byte: number): boolean {
  return (
    byte >= 0x80 ||
    byte === 0x5f ||
    byte === 0x24 ||
    (byte >= 0x30 && byte <= 0x39) ||
    (byte >= 0x41 && byte <= 0x5a) ||
    (byte >= 0x61 && byte <= 0x7a)
  )
}
