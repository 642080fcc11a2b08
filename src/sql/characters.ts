/** The kinds of token that a character can begin, to PostgreSQL's lexer. */
export const unclear = 0
export const space = 1
export const letter = 2
export const digit = 3
export const apostrophe = 4
export const quote = 5
export const dash = 6
export const slash = 7
export const dot = 8
export const dollar = 9
export const ampersand = 10
export const sign = 11

/** By code, for bytes and for UTF-16 units alike: everything from 0x80 on is part of a word, in every encoding. */
export const classes = new Uint8Array(256)
classes.fill(sign, 0x20, 0x7f)
classes.fill(letter, 0x80)
for (const [characters, kind] of [
  [' \t\n\r\f\v', space],
  ['abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_', letter],
  ['0123456789', digit],
  ["'", apostrophe],
  ['"', quote],
  ['-', dash],
  ['/', slash],
  ['.', dot],
  ['$', dollar],
  ['&', ampersand],
] as const)
  for (const character of characters) classes[character.charCodeAt(0)] = kind

export function classOf(code: number): number {
  return code < 0x80 ? (classes[code] ?? unclear) : letter
}
