/** An exact decimal number: `digits` × 10^-`scale`. */
export interface Decimal {
  readonly digits: bigint
  /** How many of the digits stand behind the point; without trailing zeros. */
  readonly scale: number
}

/** Plain notation only: what people write for bounds, and what reads the same everywhere. */
export function parseDecimal(text: string): Decimal | null {
  const match = /^([+-]?)(\d+)(?:\.(\d+))?$/.exec(text)
  if (!match) return null
  const [, sign = '', whole = '', fraction = ''] = match
  const significant = fraction.replace(/0+$/, '')
  const digits = BigInt(whole + significant)
  return { digits: sign === '-' ? -digits : digits, scale: significant.length }
}

export function compareDecimals(a: Decimal, b: Decimal): number {
  const scale = Math.max(a.scale, b.scale)
  const [left, right] = [atScale(a, scale), atScale(b, scale)]
  return left < right ? -1 : left > right ? 1 : 0
}

/** `numeric(precision, scale)` holds it exactly; the scale of the type may be negative. */
export function fitsNumeric(value: Decimal, precision: number, scale: number): boolean {
  if (value.scale > Math.max(scale, 0)) return false
  const shifted = scale >= 0 ? atScale(value, scale) : value.digits
  const unit = scale >= 0 ? 1n : 10n ** BigInt(-scale)
  return shifted % unit === 0n && magnitude(shifted / unit) < 10n ** BigInt(precision)
}

function atScale({ digits, scale }: Decimal, wanted: number): bigint {
  return digits * 10n ** BigInt(wanted - scale)
}

function magnitude(value: bigint): bigint {
  return value < 0n ? -value : value
}
