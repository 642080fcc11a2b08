import { type Answer, ok } from '../../api/operation.ts'
import { operation } from '../operation.ts'
import type { EntityContext, EntitySet, Located, ShownSet } from './entity-set.ts'
import { tagHeader } from './entity-tag.ts'
import { readView, showRows, type View, withViewOptions } from './entity-view.ts'
import type { Json, Stored } from './property.ts'
import { entitySchema, withArticle, wordsOf } from './schemas.ts'
import { contextOf } from './show-entity.ts'

export function getEntity<Row extends Stored>(set: EntitySet<Row>) {
  return operation({
    name: `get${set.one}`,
    clause: set.clause,
    summary: `Get ${withArticle(wordsOf(set.one))}`,
    method: 'GET',
    path: set.instances,
    permission: set.permissions.read,
    query: withViewOptions(set, {}),
    answers: { 200: entitySchema(set) },
    async run(context) {
      const view = readView(set, context.caller, context.query)
      return answerEntity(context, set, await set.find(context, 'read'), view)
    },
  })
}

export async function answerEntity<Row extends Stored>(
  context: EntityContext,
  set: ShownSet<Row>,
  located: Located<Row>,
  view: View = {},
): Promise<Answer> {
  return ok(await showWhole(context, set, located, view), tagHeader(located.row))
}

/** An entity as the whole answer. */
export async function showWhole<Row extends Stored>(
  context: EntityContext,
  set: ShownSet<Row>,
  { row, set: name }: Located<Row>,
  view: View,
): Promise<Record<string, Json>> {
  const [shown] = await showRows(context, set, [row], view)
  const metadata = contextOf(context.request.baseUrl, name, view.select)
  return { '@odata.context': `${metadata}/$entity`, ...shown }
}
