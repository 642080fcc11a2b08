import { type Static, Type } from 'typebox'
import type { RequestFacts } from '../../api/operation.ts'
import { pageSizeOption, queryOption } from '../../api/query-option.ts'
import type { Fragment, Query } from '../../db/query.ts'
import { fail } from '../../kernel/problem.ts'
import { withoutDirectoryPrefix } from '../../kernel/surface.ts'
import { both, type Condition } from './condition.ts'
import type { Fields } from './field.ts'
import { compileFilter } from './filter.ts'
import { isAfter, type Order, orderBy, readOrder, selectKeys } from './order.ts'
import type { FilteredRelations, ScopeOfRow } from './scope.ts'
import { compileSearch } from './search.ts'
import { fingerprintList, type Position, readSkipToken, writeSkipToken } from './skip-token.ts'

const defaultTop = 100
export const maxTop = 999

/** The query options of a list. */
export const listQuery = Type.Object({
  $select: queryOption('Properties to return, separated by commas.'),
  $filter: queryOption(
    'Condition: eq, ne, gt, ge, lt, le, in, startswith, endswith, any, all, $count, and, or, not.',
  ),
  $orderby: queryOption('Properties to sort by, separated by commas, each with asc or desc.'),
  $top: pageSizeOption('Rows of a page: 1 to 999, 100 if not given.', maxTop),
  $count: queryOption('true: also return the number of all rows.', { type: 'boolean' }),
  $skiptoken: queryOption('Where the next page starts; part of @odata.nextLink.'),
})

/** The same for directory objects, whose names can be searched by word. */
export const searchableQuery = Type.Object({
  ...listQuery.properties,
  $search: queryOption('Words that names begin with: "displayName:ada" AND "mail:ada@".'),
})
export type ListQuery = Static<typeof searchableQuery>

/** Options of a `/$count`. */
export const countQuery = Type.Object({ $filter: queryOption('Condition, as for the list.') })

/** The same where the list can be searched. */
export const searchableCountQuery = Type.Object({
  ...countQuery.properties,
  $search: searchableQuery.properties.$search,
})

/** Rows that a page looks at where no index leads to those of the filter. */
export const mostWalked = 10_000

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
  /** The relations that a filter can be about. */
  readonly relations?: FilteredRelations
  /** Reads a filter that is not about a field; undefined for any other. */
  readonly readFilter?: (text: string) => Fragment | undefined
}

export interface Page<Row> {
  readonly rows: readonly Row[]
  /** `@odata.count` and `@odata.nextLink`, where there are any, in the order in which an answer has them. */
  readonly annotations: { '@odata.count'?: number; '@odata.nextLink'?: string }
  /** Says which preference of the caller the page follows. */
  readonly headers?: { 'preference-applied': string }
}

/** A row of a page, and what it takes to continue behind it. */
type Listed<Row> = Row & {
  readonly sort_values: string[]
  readonly row_id: string
  /** False for the last row that a walk looked at, where that is not one of the page. */
  readonly matches: boolean
  /** The row's place in the walk; null where an index led to it. */
  readonly place: number | null
}

/**
 * One page of a list, by keyset: the next page starts after the last row of this one, wherever that has moved to, so
 * rows that are added or deleted meanwhile neither repeat nor hide others.
 *
 * A filter that no index serves is not let loose on the whole list: the page looks at some thousand rows, has those
 * that match, and its next link continues behind them.
 */
export async function listPage<Row extends object>(
  tx: Query,
  request: RequestFacts,
  query: ListQuery,
  source: ListSource,
): Promise<Page<Row>> {
  const preferred = query.$top === undefined ? readPageSize(request) : undefined
  const top = preferred ?? readTop(query.$top)
  const order = readOrder(query.$orderby, scopeOf(source))
  const wantsCount = readCount(query.$count)
  const fingerprint = fingerprintList(request.path, query)
  const position = query.$skiptoken === undefined ? undefined : readSkipToken(query.$skiptoken, fingerprint)
  const rows = await selectRows<Row>(tx, query, source, order, position, top + 1)
  const matching = rows.filter(({ matches }) => matches)
  const shown = matching.slice(0, top)
  const last = matching.length > top ? shown.at(-1) : rows.find(({ place }) => place === mostWalked)
  return {
    rows: shown,
    annotations: {
      ...(wantsCount && { '@odata.count': await countRows(tx, query, source) }),
      ...(last && {
        '@odata.nextLink': nextLink(
          request,
          preferred === undefined ? query : { ...query, $top: String(preferred) },
          writeSkipToken(fingerprint, { sortValues: last.sort_values, id: last.row_id }),
        ),
      }),
    },
    ...(preferred !== undefined && { headers: showPageSize(preferred) }),
  }
}

async function selectRows<Row extends object>(
  tx: Query,
  query: ListQuery,
  source: ListSource,
  order: Order,
  position: Position | undefined,
  limit: number,
): Promise<readonly Listed<Row>[]> {
  const { columns, from, where } = source
  const id = tx.unsafe(source.id)
  const condition = conditionOf(tx, query, source)
  const shown = tx`${columns}, ${selectKeys(tx, order)} as sort_values, ${id} as row_id`
  const rows = tx`from ${from} where ${where} and ${isAfter(tx, position, order, id)}`
  if (!condition)
    return await tx<Listed<Row>[]>`
      select ${shown}, true as matches, null as place ${rows} order by ${orderBy(tx, order, id)} limit ${limit}`
  // A plan for these values: whether an index is worth it depends on how common they are.
  if (condition.access === 'walk')
    return await tx<Listed<Row>[]>`
      select * from (
        select *, row_number() over () as place from (
          select ${shown}, (${condition.sql}) is true as matches ${rows}
          order by ${orderBy(tx, order, id)} limit ${mostWalked}
        ) walked
      ) numbered
      where matches or place = ${mostWalked} limit ${limit}`.unnamed()
  // Sorting keeps the planner from walking the whole list in its order: it expects words to be common.
  const sorted = condition.access === 'words' && order.length === 0
  return await tx<Listed<Row>[]>`
    select ${shown}, true as matches, null as place ${rows} and ${condition.sql}
    order by ${sorted ? tx`coalesce(${id}, ${id})` : orderBy(tx, order, id)} limit ${limit}`.unnamed()
}

/** How many rows the list has, on all its pages. */
export async function countRows(
  tx: Query,
  query: Pick<ListQuery, '$filter' | '$search'>,
  source: Omit<ListSource, 'columns' | 'id'>,
): Promise<number> {
  const condition = conditionOf(tx, query, source)
  const [row] = await tx<{ count: number }[]>`
    select count(*) as count from ${source.from} where ${source.where} and ${condition?.sql ?? tx`true`}`.unnamed()
  return row?.count ?? 0
}

/** The condition of `$filter` and `$search`; undefined where there is neither. */
function conditionOf(
  tx: Query,
  { $filter, $search }: Pick<ListQuery, '$filter' | '$search'>,
  source: Omit<ListSource, 'columns' | 'id'>,
): Condition | undefined {
  const scope = scopeOf(source)
  const special = $filter === undefined ? undefined : source.readFilter?.($filter)
  const filter = special
    ? ({ sql: special, access: 'walk' } as const)
    : $filter === undefined
      ? undefined
      : compileFilter(tx, $filter, scope)
  const search = $search === undefined ? undefined : compileSearch(tx, $search, scope)
  return filter && search ? both(tx, filter, search) : (filter ?? search)
}

function scopeOf({ fields, type, relations }: Pick<ListSource, 'fields' | 'type' | 'relations'>): ScopeOfRow {
  return { row: 'o', fields, type, relations }
}

/** The page size of `Prefer: odata.maxpagesize=…`; one that cannot be read is ignored, as preferences are. */
export function readPageSize({ preferences }: RequestFacts): number | undefined {
  const text = preferences.get('odata.maxpagesize') ?? preferences.get('maxpagesize') ?? ''
  return /^[1-9]\d{0,8}$/.test(text) ? Math.min(Number(text), maxTop) : undefined
}

/** Says that a page has the size that the caller prefers. */
export function showPageSize(size: number): { 'preference-applied': string } {
  return { 'preference-applied': `odata.maxpagesize=${size}` }
}

export function readTop(text: string | undefined): number {
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

/** The link to the next page, without `$count`: only the first page has the count. */
function nextLink(request: RequestFacts, query: ListQuery, token: string): string {
  const options = Object.entries({ ...query, $count: undefined, $skiptoken: token }).flatMap(
    ([name, value]) => (value === undefined ? [] : [`${name}=${encodeURIComponent(value)}`]),
  )
  return `${request.baseUrl}${withoutDirectoryPrefix(request.path)}?${options.join('&')}`
}
