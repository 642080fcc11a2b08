import type { Fragment, Query } from '../../db/query.ts'
import { fail } from '../../kernel/problem.ts'
import { isUuid } from '../../kernel/uuid.ts'
import { isStorableText } from '../entities/storable.ts'
import type { Condition } from './condition.ts'
import type { Field } from './field.ts'
import type { Comparison, Literal } from './filter-parser.ts'

const operators = { eq: '=', ne: '=', gt: '>', ge: '>=', lt: '<', le: '<=' } as const

export function operatorOf(op: Exclude<Comparison, 'ne'>): string {
  return operators[op]
}

/** A field of the row of an alias. */
export interface Placed {
  readonly field: Field
  readonly row: string
}

export function compileComparison(tx: Query, placed: Placed, op: Comparison, value: Literal): Condition {
  const { field, row } = placed
  if (field.type === 'texts' || field.type === 'objects')
    return refuse(field, "is a collection: use any(x:x eq 'value') or $count")
  const stored = tx.unsafe(field.sqlOf(row))
  if (value === null) return compareNull(tx, placed, op)
  if ((field.type === 'boolean' || field.type.startsWith('guid')) && op !== 'eq' && op !== 'ne')
    refuse(field, `does not support the operator '${op}'`)
  const compared = tx`${comparable(tx, placed)} ${tx.unsafe(operators[op])} ${parameter(tx, field, value)}`
  if (op === 'ne') return { sql: tx`(${compared}) is not true`, access: 'walk' }
  // An index has the empty text for null.
  const takesNull = field.type === 'text' && (op === 'lt' || op === 'le' || value === '')
  const isServed = field.index !== undefined && field.index !== 'elements'
  const isRange = op !== 'eq'
  return {
    sql: takesNull ? tx`(${compared} and ${stored} is not null)` : compared,
    access: isServed && !(isRange && field.index === 'key') ? 'index' : 'walk',
  }
}

function compareNull(tx: Query, placed: Placed, op: Comparison): Condition {
  const { field, row } = placed
  const stored = tx.unsafe(field.sqlOf(row))
  if (op === 'ne') return { sql: tx`${stored} is not null`, access: 'walk' }
  if (op !== 'eq') return refuse(field, 'can be compared with null by eq and ne only')
  const isServed = field.type === 'text' && (field.index === 'order' || field.index === 'suffix')
  return isServed
    ? { sql: tx`(${comparable(tx, placed)} = '' and ${stored} is null)`, access: 'index' }
    : { sql: tx`${stored} is null`, access: 'walk' }
}

export function compileStartsWith(tx: Query, placed: Placed, prefix: string): Condition {
  const { field, row } = placed
  if (field.type !== 'text') refuse(field, 'does not support startswith')
  const stored = tx.unsafe(field.sqlOf(row))
  const start = parameter(tx, field, prefix)
  if (prefix === '') return { sql: tx`${stored} is not null`, access: 'walk' }
  return {
    sql: tx`(${rangeOf(tx, comparable(tx, placed), start, prefix)}
      and starts_with(lower(${stored}), lower(${prefix}::text)))`,
    access: field.index === 'order' || field.index === 'suffix' ? 'index' : 'walk',
  }
}

/** Reads the text from its end: an index on the reversed text serves it where there is one. */
export function compileEndsWith(tx: Query, placed: Placed, suffix: string): Condition {
  const { field, row } = placed
  if (field.type !== 'text') refuse(field, 'does not support endswith')
  const stored = tx.unsafe(field.sqlOf(row))
  if (suffix === '') return { sql: tx`${stored} is not null`, access: 'walk' }
  const start = tx`reverse(${parameter(tx, field, suffix)})`
  const reversed = tx`reverse(lower(coalesce(${stored}, ''))) collate "C"`
  const exact = tx`starts_with(reverse(lower(${stored})), reverse(lower(${suffix}::text)))`
  if (field.index !== 'suffix') return { sql: exact, access: 'walk' }
  const range = rangeOf(tx, reversed, start, [...suffix].reverse().join(''))
  return { sql: tx`(${range} and ${exact})`, access: 'index' }
}

/** A range, so that an index serves it; the C collation orders by code point. */
function rangeOf(tx: Query, key: Fragment, start: Fragment, prefix: string): Fragment {
  const after = followingText(prefix)
  return tx`${key} >= ${start} and ${after === undefined ? tx`true` : tx`${key} < ${after}::text collate "C"`}`
}

/** The first text after all that start with this prefix, in lower case as the index has it. */
function followingText(prefix: string): string | undefined {
  const points = [...prefix.toLowerCase()]
  for (let last = points.pop(); last !== undefined; last = points.pop()) {
    const next = (last.codePointAt(0) ?? 0) + 1
    if (next <= 0x10ffff) return points.join('') + String.fromCodePoint(next === 0xd800 ? 0xe000 : next)
  }
  return undefined
}

/** Text compares without regard to case, in the form that the indexes have. */
function comparable(tx: Query, { field: { type, sqlOf }, row }: Placed): Fragment {
  const stored = tx.unsafe(sqlOf(row))
  return type === 'text' ? tx`lower(coalesce(${stored}, '')) collate "C"` : stored
}

function parameter(tx: Query, field: Field, value: Literal): Fragment {
  switch (field.type) {
    case 'guid':
      return typeof value === 'string' && isUuid(value) ? tx`${value}::uuid` : refuse(field, 'is a GUID')
    case 'guidText':
      return typeof value === 'string' && isStorableText(value)
        ? tx`${value.toLowerCase()}::text`
        : refuse(field, 'is a GUID')
    case 'boolean':
      return typeof value === 'boolean' ? tx`${value}::boolean` : refuse(field, 'is a Boolean')
    case 'integer':
      return Number.isInteger(value) && Math.abs(Number(value)) < 2 ** 31
        ? tx`${Number(value)}::integer`
        : refuse(field, 'is an integer')
    case 'dateTime':
      return tx`${readTime(field, value)}::timestamptz`
    default:
      return typeof value === 'string' && isStorableText(value)
        ? tx`lower(${value}::text) collate "C"`
        : refuse(field, 'is a string')
  }
}

function readTime(field: Field, value: Literal): string {
  const time = typeof value === 'string' && /^\d{4}-\d\d-\d\dT/.test(value) ? new Date(value) : undefined
  if (!time || Number.isNaN(time.getTime())) return refuse(field, 'is a time such as 2026-11-15T10:17:06Z')
  return time.toISOString()
}

export function refuse(field: Pick<Field, 'name'>, reason: string): never {
  return fail('InvalidQueryOption', { option: '$filter', reason: `is wrong: '${field.name}' ${reason}` })
}
