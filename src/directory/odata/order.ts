import type { Fragment, Query } from '../../db/query.ts'
import { fail } from '../../kernel/problem.ts'
import { isUuid } from '../../kernel/uuid.ts'
import { type Field, requireField } from './field.ts'
import type { ScopeOfRow } from './scope.ts'
import type { Position } from './skip-token.ts'

/** The properties that a list is sorted by, the most important one first; behind them always the id of the row. */
export type Order = readonly OrderKey[]

interface OrderKey {
  readonly field: Field
  readonly descending: boolean
}

const maxKeys = 5

export function readOrder(text: string | undefined, row: ScopeOfRow): Order {
  if (text === undefined) return []
  const keys = text.split(',').map((part) => readKey(part, row))
  if (keys.length > maxKeys) refuse(`has more than ${maxKeys} properties`)
  const names = new Set(keys.map(({ field }) => field.name))
  return names.size < keys.length ? refuse('names a property twice') : keys
}

function readKey(text: string, row: ScopeOfRow): OrderKey {
  const match = /^\s*([\w/]+)(?:\s+(asc|desc))?\s*$/i.exec(text)
  if (!match)
    return refuse('must be properties separated by commas, each followed by asc or desc where needed')
  const [, name = '', direction = 'asc'] = match
  const field = requireField(row, '$orderby', name, ({ sort }) => sort)
  return { field, descending: direction.toLowerCase() === 'desc' }
}

/** Null sorts first, as the empty text does; a time is compared to the microsecond. */
function keySql(tx: Query, { field: { type, sqlOf, always } }: OrderKey): Fragment {
  const stored = tx.unsafe(sqlOf('o'))
  if (always) return stored
  if (type === 'text') return tx`lower(coalesce(${stored}, '')) collate "C"`
  return type === 'integer' ? tx`coalesce(${stored}, ${leastInteger})` : tx`coalesce(${stored}, '-infinity')`
}

const leastInteger = -(2 ** 31)

/** The values of a row to continue after it. */
export function selectKeys(tx: Query, order: Order): Fragment {
  return order.reduce((keys, key) => tx`${keys} || (${keySql(tx, key)})::text`, tx`array[]::text[]`)
}

/** The last key is the id, in the direction of the first: an index can then be read in either direction. */
export function orderBy(tx: Query, order: Order, id: Fragment): Fragment {
  const keys = order.map((key) => tx`${keySql(tx, key)} ${directionOf(tx, key.descending)}`)
  return [...keys, tx`${id} ${directionOf(tx, descendsLast(order))}`].reduce((all, key) => tx`${all}, ${key}`)
}

function directionOf(tx: Query, descending: boolean): Fragment {
  return tx.unsafe(descending ? 'desc' : 'asc')
}

function descendsLast(order: Order): boolean {
  return order[0]?.descending ?? false
}

/** The rows behind a position. */
export function isAfter(tx: Query, position: Position | undefined, order: Order, id: Fragment): Fragment {
  if (!position) return tx`true`
  if (position.sortValues.length !== order.length) return refuseToken()
  const steps = [
    ...order.map((key, at) => ({
      key: keySql(tx, key),
      value: placeOf(tx, key, position.sortValues[at] ?? ''),
      descending: key.descending,
    })),
    { key: id, value: tx`${position.id}::uuid`, descending: descendsLast(order) },
  ]
  // One comparison of rows, which an index serves, where all directions are the same.
  if (steps.every(({ descending }) => descending === descendsLast(order))) {
    const list = (pick: 'key' | 'value') =>
      steps.map((step) => step[pick]).reduce((all, each) => tx`${all}, ${each}`)
    return tx`(${list('key')}) ${compareOf(tx, descendsLast(order))} (${list('value')})`
  }
  const [first] = steps
  if (!first) return tx`true`
  const exact = steps.reduceRight<Fragment>(
    (rest, { key, value, descending }) =>
      tx`(${key} ${compareOf(tx, descending)} ${value} or (${key} = ${value} and ${rest}))`,
    tx`false`,
  )
  return tx`(${first.key} ${compareOf(tx, first.descending)}= ${first.value} and ${exact})`
}

function compareOf(tx: Query, descending: boolean): Fragment {
  return tx.unsafe(descending ? '<' : '>')
}

function placeOf(tx: Query, { field: { type } }: OrderKey, text: string): Fragment {
  if (type === 'text') return tx`${text}::text collate "C"`
  if (type === 'integer')
    return /^-?\d{1,10}$/.test(text) && Math.abs(Number(text)) <= 2 ** 31
      ? tx`${Number(text)}::bigint`
      : refuseToken()
  if (type === 'guid') return isUuid(text) ? tx`${text}::uuid` : refuseToken()
  return tx`${readTime(text)}::timestamptz`
}

function readTime(text: string): string {
  const isTime = /^(-infinity|\d{4,6}-\d\d-\d\d \d\d:\d\d:\d\d(\.\d{1,6})?\+00)$/.test(text)
  return isTime &&
    (text === '-infinity' || !Number.isNaN(Date.parse(text.replace(' ', 'T').replace('+00', 'Z'))))
    ? text
    : refuseToken()
}

function refuse(reason: string): never {
  return fail('InvalidQueryOption', { option: '$orderby', reason })
}

function refuseToken(): never {
  return fail('InvalidQueryOption', { option: '$skiptoken', reason: 'is not one of ours' })
}
