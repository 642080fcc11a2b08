import { ok } from '../../api/operation.ts'
import {
  countQuery,
  countRows,
  listPage,
  listQuery,
  searchableCountQuery,
  searchableQuery,
} from '../odata/list.ts'
import { operation } from '../operation.ts'
import type { EntityContext, EntitySet, Listing } from './entity-set.ts'
import { readView, showRows, withViewOptions } from './entity-view.ts'
import type { Stored } from './property.ts'
import { countSchema, listSchema, wordsOf } from './schemas.ts'
import { contextOf } from './show-entity.ts'

export function listEntities<Row extends Stored>(set: EntitySet<Row>) {
  const { $select: _, ...options } = (set.searchable ? searchableQuery : listQuery).properties
  return operation({
    name: `list${set.many}`,
    clause: set.clause,
    summary: `List ${wordsOf(set.many)}`,
    method: 'GET',
    path: set.collections,
    permission: set.permissions.read,
    query: withViewOptions(set, options),
    answers: { 200: listSchema(set) },
    async run(context) {
      const { tx, caller, query, request } = context
      const view = readView(set, caller, query)
      const { set: name, source } = await openToList(set, context)
      const page = await listPage<Row>(tx, request, query, source)
      const body = {
        '@odata.context': contextOf(request.baseUrl, name, view.select),
        ...page.annotations,
        value: await showRows(context, set, page.rows, view),
      }
      return ok(body, page.headers)
    },
  })
}

export function countEntities<Row extends Stored>(set: EntitySet<Row>) {
  return operation({
    name: `count${set.many}`,
    clause: 'DIR-139',
    summary: `Count ${wordsOf(set.many)}`,
    method: 'GET',
    path: set.collections.map((path) => `${path}/$count`),
    permission: set.permissions.read,
    query: set.searchable ? searchableCountQuery : countQuery,
    answers: { 200: countSchema },
    async run(context) {
      const { source } = await openToList(set, context)
      return answerCount(await countRows(context.tx, context.query, source))
    },
  })
}

function openToList<Row extends Stored>(set: EntitySet<Row>, context: EntityContext): Promise<Listing> {
  if (!set.openToList) throw new Error(`${set.many} cannot be listed in the usual way`)
  return set.openToList(context)
}

export function answerCount(count: number) {
  return ok(String(count), { 'content-type': 'text/plain' })
}
