import type { Fragment, Query } from '../../db/query.ts'
import { fail } from '../../kernel/problem.ts'
import { isUuid } from '../../kernel/uuid.ts'
import { isStorableText } from '../entities/storable.ts'
import { type Field, type Fields, requireField } from './field.ts'
import { type Filter, type Literal, parseFilter } from './filter-parser.ts'

/**
 * A `$filter` as a condition in SQL: values are parameters, columns come from our own tables.
 * Never await or return the result from an async function: awaiting a fragment would run it.
 */
export function compileFilter(tx: Query, text: string, fields: Fields, type: string): Fragment {
  return compile(tx, parseFilter(text), { fields, type })
}

interface Scope {
  readonly fields: Fields
  readonly type: string
}

function compile(tx: Query, filter: Filter, scope: Scope): Fragment {
  switch (filter.op) {
    case 'and':
      return tx`(${compile(tx, filter.left, scope)} and ${compile(tx, filter.right, scope)})`
    case 'or':
      return tx`(${compile(tx, filter.left, scope)} or ${compile(tx, filter.right, scope)})`
    case 'not':
      return tx`(${compile(tx, filter.inner, scope)}) is not true`
    case 'in':
      return compileIn(tx, findField(filter.property, scope), filter.values)
    case 'startswith':
      return compileStartsWith(tx, findField(filter.property, scope), filter.value)
    case 'any':
      return compileAny(tx, findField(filter.property, scope), filter.value)
    default:
      return compileComparison(tx, findField(filter.property, scope), filter.op, filter.value)
  }
}

function findField(name: string, scope: Scope): Field {
  return requireField(scope, '$filter', name, ({ filter }) => filter)
}

const operators = { eq: '=', ne: '=', gt: '>', ge: '>=', lt: '<', le: '<=' } as const

function compileComparison(tx: Query, field: Field, op: keyof typeof operators, value: Literal): Fragment {
  if (field.type === 'texts') refuse(field, "needs the form any(x:x eq 'value')")
  if (value === null) {
    if (op === 'eq') return tx`${tx.unsafe(field.sql)} is null`
    if (op === 'ne') return tx`${tx.unsafe(field.sql)} is not null`
    refuse(field, 'can be compared with null by eq and ne only')
  }
  const isOrdered = field.type === 'dateTime' || field.type === 'integer'
  if (op !== 'eq' && op !== 'ne' && !isOrdered) refuse(field, `does not support the operator '${op}'`)
  const compared = tx`${comparable(tx, field)} ${tx.unsafe(operators[op])} ${parameter(tx, field, value)}`
  return op === 'ne' ? tx`(${compared}) is not true` : compared
}

function compileIn(tx: Query, field: Field, values: readonly Literal[]): Fragment {
  const conditions = values.map((value) => compileComparison(tx, field, 'eq', value))
  return conditions.reduce((left, right) => tx`(${left} or ${right})`)
}

export function compileStartsWith(tx: Query, field: Field, prefix: string): Fragment {
  if (field.type !== 'text') refuse(field, 'does not support startswith')
  const start = parameter(tx, field, prefix)
  const after = followingText(prefix)
  if (prefix === '') return tx`${tx.unsafe(field.sql)} is not null`
  // A range, so that an index serves it; the C collation orders by code point.
  return tx`(${comparable(tx, field)} >= ${start}
    and ${after === undefined ? tx`true` : tx`${comparable(tx, field)} < ${after}::text collate "C"`}
    and starts_with(lower(${tx.unsafe(field.sql)}), lower(${prefix}::text)))`
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

function compileAny(tx: Query, field: Field, value: Literal): Fragment {
  if (field.type !== 'texts') refuse(field, 'is no collection')
  if (typeof value !== 'string' || !isStorableText(value)) return refuse(field, 'holds strings')
  return tx`exists (select from jsonb_array_elements_text(${tx.unsafe(field.sql)}) as element
    where lower(element) = lower(${value}::text))`
}

/** Text compares without regard to case, in the form that the indexes have. */
function comparable(tx: Query, { type, sql }: Field): Fragment {
  return type === 'text' ? tx`lower(coalesce(${tx.unsafe(sql)}, '')) collate "C"` : tx`${tx.unsafe(sql)}`
}

function parameter(tx: Query, field: Field, value: Literal): Fragment {
  switch (field.type) {
    case 'guid':
      return typeof value === 'string' && isUuid(value) ? tx`${value}::uuid` : refuse(field, 'is a GUID')
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

function refuse(field: Field, reason: string): never {
  return fail('InvalidQueryOption', { option: '$filter', reason: `is wrong: '${field.name}' ${reason}` })
}
