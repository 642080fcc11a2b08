import { ok } from '../../api/operation.ts'
import { fail } from '../../kernel/problem.ts'
import { tagHeader } from '../entities/entity-tag.ts'
import { entitySchema, objectSchema } from '../entities/schemas.ts'
import { resources } from '../objects/kinds/resources.ts'
import type { DirectoryObject } from '../objects/object-store.ts'
import { objectQuery, viewObjects } from '../objects/view-objects.ts'
import { operation } from '../operation.ts'
import { openSource } from './list-relation.ts'
import { readObjectId } from './object-reference.ts'
import { nounOf, type Relation } from './relations.ts'

/** Gets one object at the far end of a relation: the only one, or the one that the path names. */
export function getRelated(relation: Relation) {
  const { name, single, to } = relation
  const [only, ...others] = to
  const path = `${relation.path}/${name}${single ? '' : '/:otherId'}`
  return operation({
    name: `get${single ? '' : 'OneOf'}${nounOf(relation)}`,
    clause: single ? 'DIR-210' : 'DIR-331',
    summary: `Get ${single ? 'the' : 'one of'} ${name}; the name of a type behind it asks for an object of that type`,
    method: 'GET',
    // To readers of the description, `{otherId}` and the `{cast}` of the list are one path: it can have one of them.
    ...(single ? { path: [path, `${path}/:cast`] } : { path: `${path}/:cast`, aliasPaths: [path] }),
    permission: { row: relation.read },
    query: objectQuery,
    answers: { 200: only && others.length === 0 ? entitySchema(resources[only]) : objectSchema },
    async run(context) {
      const { tx, params, query } = context
      const view = viewObjects(context, to, query)
      const key = single ? undefined : readObjectId(params.otherId)
      const { columns, from, where } = await openSource(relation, context, view.kinds)
      const [object] = await tx<DirectoryObject[]>`
        select ${columns} from ${from} where ${where} and ${key === undefined ? tx`true` : tx`o.id = ${key}`}`
      if (!object) return fail('ObjectNotFound', { id: params.otherId ?? name })
      return ok(await view.showWhole(object), tagHeader(object))
    },
  })
}
