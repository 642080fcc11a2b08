import { quoteIdentifier, quoteLiteral } from '../../db/quote.ts'
import type { Column as AnyColumn } from '../model.ts'
import type { Mask } from '../policy.ts'

/** The facts about a column that its mask depends on. */
type Column = Omit<AnyColumn, 'number' | 'type' | 'computedFrom'>

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
  // A CASE with a bare NULL in it forgets the width of a varchar(n), and a cast of the whole would run for every row.
  const { baseType } = column
  return `(CASE WHEN ${source} IS NULL THEN NULL::${baseType} ELSE ${masked} END)::${baseType}${collation}`
}

/** The fields of a mask on which it depends whether it fits. */
type Fitted = Pick<Mask, 'maskingFunction'> & Partial<Pick<Mask, 'numberFrom' | 'numberTo'>>

export function fits(column: Pick<Column, 'baseName'>, mask: Fitted): boolean {
  if (mask.maskingFunction === 'Default') return true
  if (mask.maskingFunction !== 'Number') return strings.has(column.baseName)
  return [mask.numberFrom, mask.numberTo].every(isNumber) && Object.hasOwn(numbers, column.baseName)
}

/** Other types that call themselves strings may refuse what a mask is made of. */
const strings = new Set(['text', 'varchar', 'bpchar', 'citext'])

function isNumber(text: string | null | undefined): boolean {
  return typeof text === 'string' && /^[+-]?\d{1,400}(\.\d{1,400})?([eE][+-]?\d{1,3})?$/.test(text)
}

function maskedValue(column: Column, mask: Mask, source: string): string | null {
  if (!fits(column, mask)) return null
  // Regular expressions and comparisons fail under a nondeterministic collation; C has none of that.
  const text = `(${source})::text COLLATE "C"`
  // The end of it is enough, however long it is.
  const digits = `regexp_replace("right"(${text}, 256), '[^0-9]', '', 'g')`
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
  const sizes = [mask.prefixSize ?? '0', mask.suffixSize ?? '0']
  const [prefix = 0, suffix = 0] = sizes.map(Number)
  const replacement = quoteLiteral((mask.replacementString ?? 'XXXX').replaceAll('\0', ''))
  if (!sizes.every((size) => /^\d+$/.test(size)) || prefix + suffix > 100_000_000) return replacement
  const shown = `"left"(${text}, ${prefix}) || ${replacement} || "right"(${text}, ${suffix})`
  return `CASE WHEN length(${text}) > ${prefix + suffix} THEN ${shown} ELSE ${replacement} END`
}

interface NumericType {
  /** Decimal places; null: as many as the modifier says, or any. */
  readonly places: number | null
  readonly least?: string
  readonly most?: string
  /** Beyond so many decimal places a value would be too small to be told from zero. */
  readonly smallest?: number
}

const numbers: Readonly<Record<string, NumericType>> = {
  int2: { places: 0, least: '-32768', most: '32767' },
  int4: { places: 0, least: '-2147483648', most: '2147483647' },
  int8: { places: 0, least: '-9223372036854775808', most: '9223372036854775807' },
  numeric: { places: null },
  money: { places: 2, least: '-92233720368547758.08', most: '92233720368547758.07' },
  float4: { places: null, least: '-3.4e38', most: '3.4e38', smallest: 30 },
  float8: { places: null, least: '-1.7e308', most: '1.7e308', smallest: 300 },
}

function randomNumber(column: Column, mask: Mask): string | null {
  const kind = numbers[column.baseName]
  const { numberFrom, numberTo } = mask
  if (!kind || numberFrom === null || numberTo === null) return null
  const bounds = [numberFrom, numberTo].map((text) => `${quoteLiteral(text)}::numeric`).join(', ')
  const [from, to] = [`least(${bounds})`, `greatest(${bounds})`]
  const places = kind.places ?? numericScale(column)
  // One step more than the distance, cut down: every value of the range is equally likely.
  const step = places === null ? null : `(10::numeric ^ ${-places})`
  const drawn =
    step === null
      ? `${from} + random()::numeric * (${to} - ${from})`
      : `${from} + trunc(random()::numeric * (${to} - ${from} + ${step}), ${places})`
  // random() may round up to 1 as a numeric. Bounds that the column cannot hold must not fail either.
  const { least, most } = rangeOf(column, kind)
  const within = `least(greatest(${drawn}, ${from}), ${to})`
  const bounded =
    least === undefined ? within : `least(greatest(${within}, ${quoteLiteral(least)}::numeric), ${most})`
  return kind.smallest === undefined
    ? `(${bounded})::${column.baseType}`
    : `(round(${bounded}, ${kind.smallest}))::float8::${column.baseType}`
}

function rangeOf(column: Column, { least, most }: NumericType): { least?: string; most?: string } {
  if (least !== undefined && most !== undefined) return { least, most: `${quoteLiteral(most)}::numeric` }
  const scale = numericScale(column)
  if (scale === null) return {}
  const precision = ((column.modifier - 4) >> 16) & 0xffff
  const largest = '9'.repeat(precision)
  return { least: `-${largest}e${-scale}`, most: `'${largest}e${-scale}'::numeric` }
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
  const { baseName, baseKind, baseType } = column
  const constant = (text: string) => `${quoteLiteral(text)}::${baseType}`
  // A role wrote the checks: nothing tells which constant they accept, and a view may cast to the domain.
  if (column.isChecked) return `NULL::${baseType}`
  if (column.isArray) return constant('{}')
  if (baseKind === 'e') return column.firstLabel === null ? `NULL::${baseType}` : firstLabelOf(column)
  if (baseKind === 'r') return constant('empty')
  if (baseKind === 'm') return constant('{}')
  if (Object.hasOwn(constants, baseName)) return constant(constants[baseName] ?? '')
  if (Object.hasOwn(numbers, baseName)) return `0::${baseType}`
  if (baseName === 'bit') return `0::bit(${Math.max(column.modifier, 1)})`
  // An explicit cast cuts to the width.
  if (strings.has(baseName)) return `(${quoteLiteral('XXXX')}::text)::${baseType}`
  return `NULL::${baseType}`
}

/**
 * Not as a literal: its owner may put a type in the place of the enum whose input runs code, before PostgreSQL reads
 * it.
 */
function firstLabelOf({ baseType }: Column): string {
  return `enum_first(NULL::${baseType})`
}
