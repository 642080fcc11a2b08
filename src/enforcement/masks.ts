import { quoteIdentifier, quoteLiteral } from '../db/quote.ts'
import type { Column } from './catalog.ts'

export type MaskingFunction = 'CCN' | 'Default' | 'Email' | 'Number' | 'SSN' | 'Text'

/** What a mask needs of a rule. */
export interface Mask {
  readonly maskingFunction: MaskingFunction
  readonly numberFrom: string | null
  readonly numberTo: string | null
  readonly prefixSize: string | null
  readonly suffixSize: string | null
  readonly replacementString: string | null
}

/**
 * The SQL expression that stands in for a masked column: built-ins only, so that nothing of the caller's search path is
 * ever looked up, and of the column's own type, so that nothing downstream notices. It never fails on any value, NULL
 * stays NULL, and the length of the value never shows. Null: the function does not fit the column.
 *
 * It is parsed under a search path of pg_catalog alone; `OPERATOR` and schema names are not needed then.
 */
export function maskExpression(column: Column, mask: Mask, alias: string): string | null {
  const source = `${quoteIdentifier(alias)}.${quoteIdentifier(column.name)}`
  const masked = maskedValue(column, mask, source)
  if (masked === null) return null
  const collation = column.collation === null ? '' : ` COLLATE ${column.collation}`
  // The cast stands outside: a CASE with a NULL in it forgets the width of a varchar(n).
  return `(CASE WHEN ${source} IS NULL THEN NULL ELSE ${masked} END)::${column.baseType}${collation}`
}

export function fits(column: Column, maskingFunction: MaskingFunction): boolean {
  if (maskingFunction === 'Default') return true
  if (maskingFunction === 'Number') return Object.hasOwn(numbers, column.baseName)
  return isString(column)
}

function isString({ category, baseKind, baseName }: Column): boolean {
  return category === 'S' && baseKind === 'b' && baseName !== 'name' && baseName !== 'char'
}

function maskedValue(column: Column, mask: Mask, source: string): string | null {
  if (!fits(column, mask.maskingFunction)) return null
  // Regular expressions and comparisons fail under a nondeterministic collation; C has none of that.
  const text = `(${source})::text COLLATE "C"`
  const digits = `regexp_replace(${text}, '[^0-9]', '', 'g')`
  switch (mask.maskingFunction) {
    case 'Default':
      return defaultValue(column)
    case 'CCN':
      return fit(column, lastFour('XXXX-XXXX-XXXX-', digits))
    case 'SSN':
      return fit(column, lastFour('XXX-XX-', digits))
    case 'Email':
      return fit(
        column,
        `CASE WHEN length(${text}) > 1 THEN "left"(${text}, 1) ELSE 'X' END || 'XXX@XXXX.com'`,
      )
    case 'Text':
      return fit(column, partial(mask, text))
    case 'Number':
      return randomNumber(column, mask)
  }
}

/** An explicit cast to varchar(n) or char(n) cuts silently. */
function fit(column: Column, expression: string): string {
  return `(${expression})::${column.baseType}`
}

/** A value of so few digits that four of them would be most of it shows none. */
function lastFour(prefix: string, digits: string): string {
  return `'${prefix}' || CASE WHEN length(${digits}) >= 8 THEN "right"(${digits}, 4) ELSE 'XXXX' END`
}

function partial(mask: Mask, text: string): string {
  const prefix = Number(mask.prefixSize ?? '0')
  const suffix = Number(mask.suffixSize ?? '0')
  const replacement = quoteLiteral(mask.replacementString ?? 'XXXX')
  if (prefix + suffix > 100_000_000) return replacement
  return `CASE WHEN length(${text}) > ${prefix + suffix} THEN "left"(${text}, ${prefix}) || ${replacement} || "right"(${text}, ${suffix}) ELSE ${replacement} END`
}

/** Decimal places of each numeric type; null: as many as the modifier says, or any. */
const numbers: Readonly<Record<string, { readonly places: number | null; readonly floating?: true }>> = {
  int2: { places: 0 },
  int4: { places: 0 },
  int8: { places: 0 },
  numeric: { places: null },
  money: { places: 2 },
  float4: { places: null, floating: true },
  float8: { places: null, floating: true },
}

function randomNumber(column: Column, mask: Mask): string | null {
  const kind = numbers[column.baseName]
  const { numberFrom, numberTo } = mask
  if (!kind || numberFrom === null || numberTo === null) return null
  const [from, to] = [`${quoteLiteral(numberFrom)}::numeric`, `${quoteLiteral(numberTo)}::numeric`]
  const places = kind.places ?? numericScale(column)
  // One step more than the distance, cut down: every value of the range is equally likely.
  const step = places === null ? null : `(10::numeric ^ ${-places})`
  const drawn =
    step === null
      ? `${from} + random()::numeric * (${to} - ${from})`
      : `${from} + trunc(random()::numeric * (${to} - ${from} + ${step}), ${places})`
  // random() may round up to 1 as a numeric.
  const bounded = `least(greatest(${drawn}, ${from}), ${to})`
  return kind.floating ? `(${bounded})::float8::${column.baseType}` : `(${bounded})::${column.baseType}`
}

/** The scale of numeric(p,s) as packed into the type modifier; null for plain numeric. */
function numericScale({ baseName, modifier }: Column): number | null {
  if (baseName !== 'numeric' || modifier < 4) return null
  const scale = (modifier - 4) & 0x7ff
  return scale > 1023 ? scale - 2048 : scale
}

/** A legal constant of each type; a type that is not here gets NULL. */
const constants: Readonly<Record<string, string>> = {
  bool: 'false',
  bytea: '\\x00',
  date: '1900-01-01',
  timestamp: '1900-01-01 00:00:00',
  timestamptz: '1900-01-01 00:00:00+00',
  time: '00:00:00',
  timetz: '00:00:00+00',
  interval: '0',
  uuid: '00000000-0000-0000-0000-000000000000',
  json: '{}',
  jsonb: '{}',
  jsonpath: '$',
  xml: '<masked/>',
  inet: '0.0.0.0',
  cidr: '0.0.0.0/32',
  macaddr: '00:00:00:00:00:00',
  macaddr8: '00:00:00:00:00:00:00:00',
  varbit: '',
  point: '(0,0)',
  line: '{1,0,0}',
  lseg: '[(0,0),(0,0)]',
  box: '(0,0),(0,0)',
  path: '((0,0))',
  polygon: '((0,0))',
  circle: '<(0,0),0>',
  tsvector: '',
  tsquery: '',
  pg_lsn: '0/0',
  oid: '0',
  xid: '0',
  xid8: '0',
  name: 'XXXX',
  char: 'X',
}

function defaultValue(column: Column): string {
  const { baseName, baseKind, baseType, category } = column
  const constant = (text: string) => `${quoteLiteral(text)}::${baseType}`
  if (category === 'A') return constant('{}')
  if (baseKind === 'e') return column.firstLabel === null ? `NULL::${baseType}` : constant(column.firstLabel)
  if (baseKind === 'r') return constant('empty')
  if (baseKind === 'm') return constant('{}')
  if (Object.hasOwn(constants, baseName)) return constant(constants[baseName] ?? '')
  if (Object.hasOwn(numbers, baseName)) return `0::${baseType}`
  if (baseName === 'bit') return constant('0'.repeat(Math.max(column.modifier, 1)))
  // Strings of extensions (citext) included. An explicit cast cuts to the width.
  if (isString(column)) return `(${quoteLiteral('XXXX')}::text)::${baseType}`
  return `NULL::${baseType}`
}
