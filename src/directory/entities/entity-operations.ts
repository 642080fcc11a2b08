import type { Operation } from '../../api/operation.ts'
import type { DirectoryPorts } from '../operation.ts'
import { createEntity } from './create-entity.ts'
import { deleteEntity } from './delete-entity.ts'
import type { EntitySet } from './entity-set.ts'
import { getEntity } from './get-entity.ts'
import { countEntities, listEntities } from './list-entities.ts'
import type { Stored } from './property.ts'
import { updateEntity } from './update-entity.ts'

export type Verb = 'list' | 'count' | 'get' | 'create' | 'update' | 'delete'

const makers: Readonly<Record<Verb, <Row extends Stored>(set: EntitySet<Row>) => Operation<DirectoryPorts>>> =
  {
    list: listEntities,
    count: countEntities,
    get: getEntity,
    create: createEntity,
    update: updateEntity,
    delete: deleteEntity,
  }

/** The usual operations on a set of entities, those that it has. */
export function operationsOn<Row extends Stored>(
  set: EntitySet<Row>,
  verbs: readonly Verb[],
): Operation<DirectoryPorts>[] {
  return verbs.map((verb) => makers[verb](set))
}
