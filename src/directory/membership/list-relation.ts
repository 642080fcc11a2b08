import { Type } from 'typebox'
import { type Context, ok } from '../../api/operation.ts'
import type { Caller } from '../../auth/caller.ts'
import { holds } from '../../auth/permit.ts'
import { fail } from '../../kernel/problem.ts'
import { expandOption } from '../entities/entity-view.ts'
import { answerCount } from '../entities/list-entities.ts'
import { collectionSchema, countSchema, objectSchema } from '../entities/schemas.ts'
import { namespace } from '../entities/show-entity.ts'
import type { ObjectKind } from '../objects/kinds/resource.ts'
import { resources } from '../objects/kinds/resources.ts'
import { objectPermissions, readableProperties } from '../objects/object-permissions.ts'
import { type DirectoryObject, objectColumns } from '../objects/object-store.ts'
import { readCast, viewObjects } from '../objects/view-objects.ts'
import { fieldsOf, restrictFields } from '../odata/field.ts'
import {
  countRows,
  type ListQuery,
  type ListSource,
  listPage,
  searchableCountQuery,
  searchableQuery,
} from '../odata/list.ts'
import { type DirectoryPorts, operation } from '../operation.ts'
import { sourceOfRelation } from './relation-source.ts'
import { nounOf, type Relation } from './relations.ts'
import { findTarget } from './targets.ts'

const answer = collectionSchema(objectSchema, 'directoryObjectCollection')
const query = Type.Object({ ...searchableQuery.properties, $expand: expandOption })

export function listRelation(relation: Relation) {
  const path = `${relation.path}/${relation.name}`
  return operation({
    name: `list${nounOf(relation)}`,
    clause: 'DIR-136',
    summary: `List ${relation.name}; the name of a type behind it lists those of that type`,
    method: 'GET',
    path: [path, `${path}/:cast`],
    permission: { row: relation.read },
    query,
    answers: { 200: answer },
    async run(context) {
      const { tx, caller, query, request } = context
      const view = viewObjects(context, relation.to, query)
      requireReadable(caller, view.kinds, query)
      const source = await openSource(relation, context, view.kinds)
      const page = await listPage<DirectoryObject>(tx, request, query, source)
      const value = await view.show(page.rows)
      return ok({ '@odata.context': view.context, ...page.annotations, value }, page.headers)
    },
  })
}

export function countRelation(relation: Relation) {
  const path = `${relation.path}/${relation.name}`
  return operation({
    name: `count${nounOf(relation)}`,
    clause: 'DIR-136',
    summary: `Count ${relation.name}`,
    method: 'GET',
    path: [`${path}/$count`, `${path}/:cast/$count`],
    permission: { row: relation.read },
    query: searchableCountQuery,
    answers: { 200: countSchema },
    async run(context) {
      const { tx, caller, query, params } = context
      const kinds = readCast(relation.to, params.cast)
      requireReadable(caller, kinds, query)
      const source = await openSource(relation, context, kinds)
      return answerCount(await countRows(tx, query, source))
    },
  })
}

/** Refuses filters, orders and searches, which reveal properties, to callers who may not read these. */
function requireReadable(caller: Caller, kinds: readonly ObjectKind[], query: ListQuery): void {
  const tells = [query.$filter, query.$orderby, query.$search].some((option) => option !== undefined)
  if (tells && !kinds.every((kind) => holds(caller, objectPermissions[kind].read)))
    fail('InsufficientPrivileges')
}

/** Where the objects at the far end of a relation are read from, those of some kinds. */
export async function openSource(
  relation: Relation,
  {
    tx,
    caller,
    params,
    ports,
  }: Pick<Context<DirectoryPorts, unknown, unknown>, 'tx' | 'caller' | 'params' | 'ports'>,
  kinds: readonly ObjectKind[],
): Promise<ListSource> {
  const { id } = await findTarget(tx, caller, relation.from, params)
  const { from, where, rowId } = await sourceOfRelation(tx, ports.graph, relation, caller.tenantId, id)
  const [only] = kinds
  return {
    columns: objectColumns(tx),
    from,
    where: tx`${where} and o.kind = any(${kinds as ObjectKind[]}) and o.deleted_at is null`,
    id: rowId,
    fields: restrictFields(
      fieldsOf(kinds.map((kind) => resources[kind])),
      kinds.includes('user') ? readableProperties(caller, 'user') : undefined,
    ),
    type: `${namespace}.${kinds.length === 1 && only ? only : 'directoryObject'}`,
  }
}
