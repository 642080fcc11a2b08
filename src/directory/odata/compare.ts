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
  if (prefix === '') return { sql: tx`${tx.unsafe(field.sqlOf(row))} is not null`, access: 'walk' }
  return {
    sql: isWithin(tx, comparable(tx, placed), parameter(tx, field, prefix)),
    access: field.index === 'order' || field.index === 'suffix' ? 'index' : 'walk',
  }
}

/** Reads the text from its end: an index on the reversed text serves it where there is one. */
export function compileEndsWith(tx: Query, placed: Placed, suffix: string): Condition {
  const { field, row } = placed
  if (field.type !== 'text') refuse(field, 'does not support endswith')
  const stored = tx.unsafe(field.sqlOf(row))
  if (suffix === '') return { sql: tx`${stored} is not null`, access: 'walk' }
  const reversed = tx`reverse(lower(coalesce(${stored}, ''))) collate "C"`
  return {
    sql: isWithin(tx, reversed, tx`reverse(${parameter(tx, field, suffix)})`),
    access: field.index === 'suffix' ? 'index' : 'walk',
  }
}

/**
 * The texts that begin with a start, as a range that an index serves and the planner can estimate: they lie between the
 * start and the start with the last code point behind it, since the C collation orders by code point.
 */
function isWithin(tx: Query, key: Fragment, start: Fragment): Fragment {
  return tx`(${key} >= ${start} and ${key} < (${start} || chr(${lastCodePoint})) collate "C")`
}

const lastCodePoint = 0x10ffff

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
