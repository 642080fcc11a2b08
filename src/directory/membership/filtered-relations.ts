import type { Caller } from '../../auth/caller.ts'
import { holds } from '../../auth/permit.ts'
import type { ObjectKind } from '../objects/kinds/resource.ts'
import { resources } from '../objects/kinds/resources.ts'
import { objectPermissions, readableProperties } from '../objects/object-permissions.ts'
import { type Fields, fieldsOf, restrictFields } from '../odata/field.ts'
import type { FilteredRelation, FilteredRelations } from '../odata/scope.ts'
import { columnsOf } from './relation-source.ts'
import { type Relation, relations } from './relations.ts'

const idAlone: ReadonlySet<string> = new Set(['id'])

/** The direct relations of objects of a kind, as far as the caller may filter by them. */
export function filteredRelations(caller: Caller, kind: ObjectKind): FilteredRelations {
  const { set } = resources[kind]
  return new Map(
    relations
      .filter(({ path, single }) => path === `/${set}/:id` && !single)
      .map((relation) => [relation.name.toLowerCase(), openRelation(caller, relation)]),
  )
}

function openRelation(caller: Caller, relation: Relation): FilteredRelation | 'denied' | 'transitive' {
  const { name, to: kinds, edge, transitive } = relation
  if (!holds(caller, relation.read)) return 'denied'
  if (transitive) return 'transitive'
  return { name, kinds, ...columnsOf[edge], fields: readableFields(caller, kinds) }
}

const knownFields = new Map<readonly ObjectKind[], Fields>()

/** The fields of objects of several kinds; without the permission to read all kinds, only the id. */
function readableFields(caller: Caller, kinds: readonly ObjectKind[]): Fields {
  const fields = knownFields.get(kinds) ?? fieldsOf(kinds.map((kind) => resources[kind]))
  knownFields.set(kinds, fields)
  const mayRead = kinds.every((kind) => holds(caller, objectPermissions[kind].read))
  if (!mayRead) return restrictFields(fields, idAlone)
  return restrictFields(fields, kinds.includes('user') ? readableProperties(caller, 'user') : undefined)
}
