import { ok } from '../../api/operation.ts'
import type { Caller } from '../../auth/caller.ts'
import type { PermissionRow } from '../../auth/permission.ts'
import type { Fragment, Query } from '../../db/query.ts'
import { fail } from '../../kernel/problem.ts'
import { isUuid } from '../../kernel/uuid.ts'
import { countRows, type ListSource, listPage, listQuery, searchableCountQuery } from '../odata/list.ts'
import { readSelect } from '../odata/select.ts'
import { operation } from '../operation.ts'
import { entityQuery } from './entity-view.ts'
import { answerCount } from './list-entities.ts'
import type { Described, Stored } from './property.ts'
import { countSchema, entitySchema, listSchema, withArticle, wordsOf } from './schemas.ts'
import { contextOf, showEntity } from './show-entity.ts'

/** Entities that are made of other data: they can be listed, counted and read. */
export interface ReadOnlySet extends Described {
  readonly clause: string
  readonly one: string
  readonly many: string
  readonly path: string
  /** As `@odata.context` has it. */
  readonly set: string
  readonly permission: PermissionRow
  source(tx: Query, tenantId: string): ListSource
  /** The condition for one entity where its key is not the row's id; undefined for a key that no entity can have. */
  isKey?(tx: Query, key: string): Fragment | undefined
  /** Refuses callers for whom the permission does not suffice. */
  requireCaller?(caller: Caller): void
  /** The order of lists that ask for none. */
  readonly defaultOrder?: string
}

function isId(tx: Query, { id }: ListSource, key: string): Fragment | undefined {
  return isUuid(key) ? tx`${tx.unsafe(id)} = ${key}::uuid` : undefined
}

export function readOperationsOn(set: ReadOnlySet) {
  const permission = { row: set.permission }
  return [
    operation({
      name: `list${set.many}`,
      clause: set.clause,
      summary: `List ${wordsOf(set.many)}`,
      method: 'GET',
      path: set.path,
      permission,
      query: listQuery,
      answers: { 200: listSchema(set) },
      async run({ tx, caller, query, request }) {
        set.requireCaller?.(caller)
        const select = readSelect(query.$select, [set])
        const ordered = set.defaultOrder === undefined ? query : { $orderby: set.defaultOrder, ...query }
        const page = await listPage<Stored>(tx, request, ordered, set.source(tx, caller.tenantId))
        const body = {
          '@odata.context': contextOf(request.baseUrl, set.set, select),
          ...page.annotations,
          value: page.rows.map((row) => showEntity(set, row, { select })),
        }
        return ok(body, page.headers)
      },
    }),
    operation({
      name: `count${set.many}`,
      clause: set.clause,
      summary: `Count ${wordsOf(set.many)}`,
      method: 'GET',
      path: `${set.path}/$count`,
      permission,
      query: searchableCountQuery,
      answers: { 200: countSchema },
      async run({ tx, caller, query }) {
        set.requireCaller?.(caller)
        return answerCount(await countRows(tx, query, set.source(tx, caller.tenantId)))
      },
    }),
    operation({
      name: `get${set.one}`,
      clause: set.clause,
      summary: `Get ${withArticle(wordsOf(set.one))}`,
      method: 'GET',
      path: `${set.path}/:key`,
      permission,
      query: entityQuery,
      answers: { 200: entitySchema(set) },
      async run({ tx, caller, params: { key = '' }, query, request }) {
        set.requireCaller?.(caller)
        const select = readSelect(query.$select, [set])
        const source = set.source(tx, caller.tenantId)
        const { columns, from, where } = source
        const found = set.isKey ? set.isKey(tx, key) : isId(tx, source, key)
        const [row] = found
          ? await tx<Stored[]>`select ${columns} from ${from} where ${where} and ${found}`
          : []
        if (!row) return fail('ObjectNotFound', { id: key.slice(0, 200) })
        const context = `${contextOf(request.baseUrl, set.set, select)}/$entity`
        return ok({ '@odata.context': context, ...showEntity(set, row, { select }) })
      },
    }),
  ]
}
