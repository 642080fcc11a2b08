import type { Query } from '../../db/query.ts'
import type { EntityContext, EntitySet, Located, Update } from '../entities/entity-set.ts'
import { nameOperation } from '../entities/schemas.ts'
import { namespace } from '../entities/show-entity.ts'
import { extensibleObjects } from '../extensions/permissions.ts'
import { expandRelations } from '../membership/expand-relations.ts'
import { filteredRelations } from '../membership/filtered-relations.ts'
import { fieldsOf, restrictFields } from '../odata/field.ts'
import type { ListSource } from '../odata/list.ts'
import { objectRights } from '../rights/declared-rights.ts'
import type { ObjectKind, Resource } from './kinds/resource.ts'
import { resources } from './kinds/resources.ts'
import { objectPermissions, readableProperties } from './object-permissions.ts'
import {
  type DirectoryObject,
  describeChange,
  findObject,
  findUser,
  insertObject,
  objectColumns,
  updateObject,
} from './object-store.ts'
import { removeObject } from './remove-object.ts'

export type ObjectSet = EntitySet<DirectoryObject>

/** The directory objects of one kind, with what is special about them. */
export function objectSet(resource: Resource, special: Partial<ObjectSet> = {}): ObjectSet {
  const { kind, set } = resource
  const fields = fieldsOf([resource])
  const readable: ObjectSet['readable'] = (caller) => readableProperties(caller, kind)
  return {
    ...resource,
    clause: 'DIR-134',
    one: nameOperation('', kind),
    many: nameOperation('', set),
    collections: [`/${set}`],
    instances: [`/${set}/:id`],
    permissions: permissionsOf(kind),
    rights: objectRights[kind],
    extensionsOn: extensibleObjects.has(kind) ? 'object' : undefined,
    expandable: expandRelations(kind),
    searchable: true,
    readable,
    async openToList({ tx, caller }) {
      const source = {
        ...sourceOf(tx, caller.tenantId, kind),
        fields: restrictFields(fields, readable(caller)),
        relations: filteredRelations(caller, kind),
      }
      return { set, source }
    },
    openToCreate: async ({ tx, caller }) => ({
      insert: async (properties) => describePlace(await insertObject(tx, caller.tenantId, kind, properties)),
    }),
    find: (context, purpose) => locate(context, kind, { lock: purpose === 'write' }),
    describeChange,
    update: objectUpdate,
    remove: removeObject,
    ...special,
  }
}

function permissionsOf(kind: ObjectKind): ObjectSet['permissions'] {
  const { read, create, update, delete: remove } = objectPermissions[kind]
  return { read: { row: read }, create: { row: create }, update: { row: update }, delete: { row: remove } }
}

/** The rows of a list of living or deleted objects. */
export function sourceOf(
  tx: Query,
  tenantId: string,
  kind: ObjectKind,
  isDeleted = false,
): Omit<ListSource, 'fields'> {
  return {
    columns: objectColumns(tx),
    from: tx`directory_object o`,
    // The kind as a constant: indexes for some kinds say so in the same way.
    where: tx`o.tenant_id = ${tenantId} and o.kind = ${tx.unsafe(`'${kind}'`)}
      and ${isDeleted ? tx`o.deleted_at is not null` : tx`o.deleted_at is null`}`,
    id: 'o.id',
    type: `${namespace}.${kind}`,
  }
}

/** Users go by userPrincipalName too; without a key in the path the user is the caller. */
async function locate(
  { tx, caller, params }: EntityContext,
  kind: ObjectKind,
  options: { readonly lock: boolean },
): Promise<Located<DirectoryObject>> {
  return describePlace(
    kind === 'user'
      ? await findUser(tx, caller.tenantId, params.id ?? caller.objectId, options)
      : await findObject(tx, caller.tenantId, kind, params.id ?? '', options),
  )
}

export function describePlace(row: DirectoryObject): Located<DirectoryObject> {
  const { set } = resources[row.kind]
  return { row, set, path: `/${set}/${row.id}` }
}

export const objectUpdate: Update<DirectoryObject> = {
  store: ({ tx, caller }, { row }, changes) => updateObject(tx, caller.tenantId, row, changes),
  answersWithEntity: false,
}
