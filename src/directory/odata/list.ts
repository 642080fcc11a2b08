import { type Static, Type } from 'typebox'
import type { RequestFacts } from '../../api/operation.ts'
import type { Fragment, Query } from '../../db/query.ts'
import { fail } from '../../kernel/problem.ts'
import { withoutDirectoryPrefix } from '../../kernel/surface.ts'
import { type Field, type Fields, requireField } from './field.ts'
import { compileFilter } from './filter.ts'
import { compileSearch } from './search.ts'
import { fingerprintList, type Position, readSkipToken, writeSkipToken } from './skip-token.ts'

const option = (description: string) => Type.Optional(Type.String({ description }))

/** The query options of a list. */
export const listQuery = Type.Object({
  $select: option('Properties to return, separated by commas.'),
  $filter: option('Condition: eq, ne, in, startswith, any, and, or, not.'),
  $orderby: option('Property to sort by, with asc or desc.'),
  $top: option('Rows of a page: 1 to 999, 100 if not given.'),
  $count: option('true: also return the number of all rows.'),
  $skiptoken: option('Where the next page starts; part of @odata.nextLink.'),
})

/** The same for directory objects, whose names can be searched by word. */
export const searchableQuery = Type.Object({
  ...listQuery.properties,
  $search: option('Words that names begin with: "displayName:ada" AND "mail:ada@".'),
})
export type ListQuery = Static<typeof searchableQuery>

/** Options of a `/$count`. */
export const countQuery = Type.Object({ $filter: option('Condition, as for the list.') })

const defaultTop = 100
const maxTop = 999

/** The source of a list's rows. Every text of SQL in it is a constant of ours. */
export interface ListSource {
  /** Columns of a row, without the word select. */
  readonly columns: Fragment
  /** Tables with their joins, without the word from. */
  readonly from: Fragment
  readonly where: Fragment
  /** SQL of the row's id, a uuid that no other row of this list has. */
  readonly id: string
  /** The properties to filter and sort by. */
  readonly fields: Fields
  /** The type named in messages, such as `vendor.graph.user`. */
  readonly type: string
  /** Reads a filter that is not about a field; undefined for any other. */
  readonly readFilter?: (text: string) => Fragment | undefined
}

export interface Page<Row> {
  readonly rows: readonly Row[]
  /** `@odata.count` and `@odata.nextLink`, where there are any, in the order in which an answer has them. */
  readonly annotations: { '@odata.count'?: number; '@odata.nextLink'?: string }
}

interface Order {
  readonly field: Field | undefined
  readonly descending: boolean
}

/**
 * One page of a list, by keyset: the next page starts after the last row of this one, wherever that has moved to, so
 * rows that are added or deleted meanwhile neither repeat nor hide others.
 */
export async function listPage<Row extends object>(
  tx: Query,
  request: RequestFacts,
  query: ListQuery,
  source: ListSource,
): Promise<Page<Row>> {
  const top = readTop(query.$top)
  const order = readOrder(query.$orderby, source)
  const wantsCount = readCount(query.$count)
  const fingerprint = fingerprintList([
    request.path.toLowerCase(),
    query.$filter,
    query.$orderby,
    query.$search,
  ])
  const position = query.$skiptoken === undefined ? undefined : readSkipToken(query.$skiptoken, fingerprint)
  const rows = await tx<(Row & { sort_value: string | null; row_id: string })[]>`
    select ${source.columns}, ${sortValue(tx, order)} as sort_value, ${tx.unsafe(source.id)} as row_id
    from ${source.from}
    where ${source.where} and ${conditionOf(tx, query, source)} and ${after(tx, position, order, source)}
    order by ${orderBy(tx, order, source, query.$search !== undefined)} limit ${top + 1}`
  const shown = rows.slice(0, top)
  const last = shown.at(-1)
  return {
    rows: shown,
    annotations: {
      ...(wantsCount && { '@odata.count': await countRows(tx, query, source) }),
      ...(rows.length > top &&
        last && {
          '@odata.nextLink': nextLink(
            request,
            query,
            writeSkipToken(fingerprint, { sortValue: last.sort_value, id: last.row_id }),
          ),
        }),
    },
  }
}

/** How many rows the list has, on all its pages. */
export async function countRows(
  tx: Query,
  query: Pick<ListQuery, '$filter' | '$search'>,
  source: Omit<ListSource, 'columns' | 'id'>,
): Promise<number> {
  const [row] = await tx<{ count: number }[]>`
    select count(*) as count from ${source.from} where ${source.where} and ${conditionOf(tx, query, source)}`
  return row?.count ?? 0
}

function conditionOf(
  tx: Query,
  { $filter, $search }: Pick<ListQuery, '$filter' | '$search'>,
  { fields, type, readFilter }: Omit<ListSource, 'columns' | 'id'>,
): Fragment {
  const filter =
    $filter === undefined ? tx`true` : (readFilter?.($filter) ?? compileFilter(tx, $filter, fields, type))
  return $search === undefined ? filter : tx`${filter} and ${compileSearch(tx, $search, fields, type)}`
}

function readTop(text: string | undefined): number {
  if (text === undefined) return defaultTop
  const top = /^\d{1,4}$/.test(text) ? Number(text) : 0
  if (top < 1 || top > maxTop)
    fail('InvalidQueryOption', { option: '$top', reason: `must be a whole number from 1 to ${maxTop}` })
  return top
}

function readCount(text: string | undefined): boolean {
  if (text === undefined) return false
  if (!/^(true|false)$/i.test(text))
    fail('InvalidQueryOption', { option: '$count', reason: 'must be true or false' })
  return text.toLowerCase() === 'true'
}

function readOrder(text: string | undefined, source: ListSource): Order {
  if (text === undefined) return { field: undefined, descending: false }
  const match = /^\s*([\w/]+)(?:\s+(asc|desc))?\s*$/i.exec(text)
  if (!match)
    return fail('InvalidQueryOption', {
      option: '$orderby',
      reason: 'must be one property, followed by asc or desc where needed',
    })
  const [, name = '', direction = 'asc'] = match
  const field = requireField(source, '$orderby', name, ({ sort }) => sort)
  return { field, descending: direction.toLowerCase() === 'desc' }
}

/** Null sorts first, as the empty text does; a time is compared to the microsecond. */
function sortKey(tx: Query, { type, sql, always }: Field): Fragment {
  if (always) return tx`${tx.unsafe(sql)}`
  return type === 'text'
    ? tx`lower(coalesce(${tx.unsafe(sql)}, '')) collate "C"`
    : tx`coalesce(${tx.unsafe(sql)}, '-infinity')`
}

function sortValue(tx: Query, { field }: Order): Fragment {
  return field ? tx`(${sortKey(tx, field)})::text` : tx`null`
}

function orderBy(tx: Query, { field, descending }: Order, source: ListSource, isSearch: boolean): Fragment {
  const direction = tx.unsafe(descending ? 'desc' : 'asc')
  const id = tx.unsafe(source.id)
  // Keeps the planner from walking the whole list in its order: it expects words to be common.
  if (isSearch && !field) return tx`coalesce(${id}, ${id})`
  return field ? tx`${sortKey(tx, field)} ${direction}, ${id} ${direction}` : tx`${id}`
}

function after(
  tx: Query,
  position: Position | undefined,
  { field, descending }: Order,
  source: ListSource,
): Fragment {
  if (!position) return tx`true`
  const id = tx.unsafe(source.id)
  if (!field) return tx`${id} > ${position.id}::uuid`
  const value =
    field.type === 'text'
      ? tx`${position.sortValue ?? ''}::text collate "C"`
      : tx`${readTimeOf(position)}::timestamptz`
  const comparison = tx.unsafe(descending ? '<' : '>')
  return tx`(${sortKey(tx, field)}, ${id}) ${comparison} (${value}, ${position.id}::uuid)`
}

function readTimeOf({ sortValue: text }: Position): string {
  const isTime = text !== null && /^(-infinity|\d{4,6}-\d\d-\d\d \d\d:\d\d:\d\d(\.\d{1,6})?\+00)$/.test(text)
  return isTime &&
    (text === '-infinity' || !Number.isNaN(Date.parse(text.replace(' ', 'T').replace('+00', 'Z'))))
    ? text
    : fail('InvalidQueryOption', { option: '$skiptoken', reason: 'is not one of ours' })
}

/** The link to the next page, without `$count`: only the first page has the count. */
function nextLink(request: RequestFacts, query: ListQuery, token: string): string {
  const options = Object.entries({ ...query, $count: undefined, $skiptoken: token }).flatMap(
    ([name, value]) => (value === undefined ? [] : [`${name}=${encodeURIComponent(value)}`]),
  )
  return `${request.baseUrl}${withoutDirectoryPrefix(request.path)}?${options.join('&')}`
}
