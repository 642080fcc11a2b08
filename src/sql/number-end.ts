/** Decimal with fraction and exponent, hexadecimal, octal or binary, with underscores between digits. */
const number =
  /(?:0x(?:_?[\da-f])+|0o(?:_?[0-7])+|0b(?:_?[01])+|\d(?:_?\d)*(?:\.(?:\d(?:_?\d)*)?)?(?:e[+-]?\d(?:_?\d)*)?)(?![\w.\u0080-\uffff])/iy

/**
 * Where a number ends that begins with the digit at `from`. -1: a letter or dot follows. PostgreSQL to 14 reads `1from` as `1`
 * and `from`, later versions refuse it.
 */
export function findNumberEnd(text: string, from: number): number {
  number.lastIndex = from
  return number.test(text) ? number.lastIndex : -1
}
