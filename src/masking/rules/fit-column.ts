import type { CatalogColumn, ColumnType } from '../binding/find-column.ts'
import { compareDecimals, type Decimal, fitsNumeric, parseDecimal } from '../decimal.ts'
import { suggest } from '../faults.ts'
import { columnFields, type MaskingFunction, type RuleProperties } from './rule-fields.ts'
import type { RuleFault } from './validate-rule.ts'

const longestIdentifierBytes = 63

/** PostgreSQL would cut longer names and find, or mask, something else. */
export function checkIdentifierLengths(rule: RuleProperties): RuleFault[] {
  return columnFields
    .filter((field) => Buffer.byteLength(rule[field]) > longestIdentifierBytes)
    .map((field) => ({
      field,
      reason: `has more than ${longestIdentifierBytes} bytes: PostgreSQL has no such name`,
    }))
}

/** Pure: whether the rule can mask what the catalog says is there. */
export function fitColumn(rule: RuleProperties, column: CatalogColumn): RuleFault[] {
  if ('unmaskable' in column) return [{ field: column.unmaskable, reason: column.reason }]
  if ('missing' in column) return [{ field: column.missing, reason: explainMissing(rule, column) }]
  return checkFunction(rule, column.type)
}

const nouns = { schemaName: 'schema', tableName: 'table', columnName: 'column' }

function explainMissing(rule: RuleProperties, column: Extract<CatalogColumn, { missing: unknown }>): string {
  const hint = suggest(column.nearest)
  return `names no ${nouns[column.missing]} of the bound database: '${rule[column.missing]}'${hint}`
}

/** The masking functions that have an expression for the type. */
export function fittingFunctions({
  name,
  category,
}: Pick<ColumnType, 'name' | 'category'>): MaskingFunction[] {
  const isNumber = Object.hasOwn(ranges, name)
  return [
    'Default',
    ...(category === 'S' ? (['CCN', 'Email', 'SSN', 'Text'] as const) : []),
    ...(isNumber ? (['Number'] as const) : []),
  ]
}

function checkFunction(rule: RuleProperties, type: ColumnType): RuleFault[] {
  const fitting = fittingFunctions(type)
  if (!fitting.includes(rule.maskingFunction))
    return [
      {
        field: 'maskingFunction',
        reason: `does not fit the column, which is of type ${type.shown}; fitting: ${fitting.join(', ')}`,
      },
    ]
  if (rule.maskingFunction !== 'Number') return []
  return [...checkBound('numberFrom', rule, type), ...checkBound('numberTo', rule, type)]
}

interface Range {
  readonly least: string
  readonly most: string
  /** Digits behind the point; undefined: any. */
  readonly scale?: number
}

const float = (digits: string, zeros: number) => `${digits}${'0'.repeat(zeros)}`
const symmetric = (most: string): Range => ({ least: `-${most}`, most })

const ranges: Readonly<Record<string, Range>> = {
  int2: { least: '-32768', most: '32767', scale: 0 },
  int4: { least: '-2147483648', most: '2147483647', scale: 0 },
  int8: { least: '-9223372036854775808', most: '9223372036854775807', scale: 0 },
  money: { least: '-92233720368547758.08', most: '92233720368547758.07', scale: 2 },
  float4: symmetric(float('340282', 33)),
  float8: symmetric(float('179769', 303)),
  numeric: symmetric('9'.repeat(130)),
}

function checkBound(field: 'numberFrom' | 'numberTo', rule: RuleProperties, type: ColumnType): RuleFault[] {
  const bound = parseDecimal(rule[field] ?? '')
  if (!bound || fits(bound, type)) return []
  return [{ field, reason: `does not fit the column, which is of type ${type.shown}` }]
}

function fits(bound: Decimal, type: ColumnType): boolean {
  const range = ranges[type.name]
  const [least, most] = [parseDecimal(range?.least ?? ''), parseDecimal(range?.most ?? '')]
  if (!range || !least || !most) return false
  if (compareDecimals(bound, least) < 0 || compareDecimals(bound, most) > 0) return false
  if (range.scale !== undefined && bound.scale > range.scale) return false
  if (type.name !== 'numeric' || type.modifier === -1) return true
  const { precision, scale } = readNumericModifier(type.modifier)
  return fitsNumeric(bound, precision, scale)
}

/** PostgreSQL packs both into one number: the precision above 16 bits, the scale in 11 bits with its sign. */
function readNumericModifier(modifier: number): { precision: number; scale: number } {
  const packed = modifier - 4
  const scale = packed & 0x7ff
  return { precision: (packed >> 16) & 0xffff, scale: scale >= 1024 ? scale - 2048 : scale }
}
