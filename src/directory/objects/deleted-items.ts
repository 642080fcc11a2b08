import { Type } from 'typebox'
import { noContent, ok } from '../../api/operation.ts'
import { holds } from '../../auth/permit.ts'
import { appendChanges } from '../../db/change-log.ts'
import { fail } from '../../kernel/problem.ts'
import { operationsOn } from '../entities/entity-operations.ts'
import type { EntityContext } from '../entities/entity-set.ts'
import { entityQuery } from '../entities/entity-view.ts'
import { describeWrite } from '../entities/entity-write.ts'
import { entitySchema } from '../entities/schemas.ts'
import { namespace } from '../entities/show-entity.ts'
import { fieldsOf, withoutIndexes } from '../odata/field.ts'
import { readSelect } from '../odata/select.ts'
import { operation } from '../operation.ts'
import { rightsToDelete } from '../rights/declared-rights.ts'
import { beforeWrite } from '../write-rules/before-write.ts'
import { application } from './kinds/application.ts'
import { group } from './kinds/group.ts'
import type { ObjectKind, Resource } from './kinds/resource.ts'
import { resources } from './kinds/resources.ts'
import { servicePrincipal } from './kinds/service-principal.ts'
import { user } from './kinds/user.ts'
import { objectPermissions, readDeletedPermissions } from './object-permissions.ts'
import { describePlace, type ObjectSet, objectSet, sourceOf } from './object-set.ts'
import { type DirectoryObject, describeChange, findObject, purgeObjects, setDeleted } from './object-store.ts'
import { findCompanions } from './remove-object.ts'
import { renderObject } from './render-object.ts'
import { readCast } from './view-objects.ts'

const restorable: readonly Resource[] = [user, group, application, servicePrincipal]
const restorableKinds = restorable.map(({ kind }) => kind)
const rowOf = (kind: ObjectKind, action: 'read' | 'delete') =>
  action === 'read' ? readDeletedPermissions(kind) : objectPermissions[kind].delete
const rows = (action: 'read' | 'delete') => restorable.map(({ kind }) => rowOf(kind, action))
const anyEntity = Type.Union(restorable.map(entitySchema))
const path = '/directory/deletedItems/:id'

/** A deleted object of a kind that the caller may read or delete; objects of other kinds are 404 to the caller. */
async function findDeleted(
  { tx, caller, params }: EntityContext,
  action: 'read' | 'delete',
  options: { lock?: boolean } = {},
): Promise<DirectoryObject> {
  const kinds = readCast(restorableKinds, params.cast).filter(
    (kind) => restorableKinds.includes(kind) && holds(caller, rowOf(kind, action)),
  )
  if (kinds.length === 0) return fail('ObjectNotFound', { id: params.id ?? '' })
  return findObject(tx, caller.tenantId, kinds, params.id ?? '', { deleted: true, ...options })
}

const getDeletedItem = operation({
  name: 'getDeletedItem',
  clause: 'DIR-134',
  summary:
    'Get a deleted object that can be restored; the name of a type behind it asks for an object of that type',
  method: 'GET',
  path: [path, `${path}/:cast`],
  permission: { anyRow: rows('read') },
  query: entityQuery,
  answers: { 200: anyEntity },
  async run(context) {
    const select = readSelect(context.query.$select, restorable)
    const object = await findDeleted(context, 'read')
    const typed = context.params.cast === undefined
    const set = typed ? 'directoryObjects' : resources[object.kind].set
    return ok(renderObject(object, context.request.baseUrl, { set, typed, select }))
  },
})

const restoreDeletedItem = operation({
  name: 'restoreDeletedItem',
  clause: 'DIR-134',
  summary: 'Restore a deleted object with its memberships',
  method: 'POST',
  path: `${path}/restore`,
  permission: { anyRow: rows('delete') },
  right: rightsToDelete(restorableKinds),
  answers: { 200: anyEntity },
  async run(context) {
    const { tx, caller, request, audit } = context
    const { tenantId } = caller
    const object = await findDeleted(context, 'delete', { lock: true })
    const { kind, id } = object
    await beforeWrite(context, describeWrite('restore', object))
    const companions = await findCompanions(tx, tenantId, object, object.deletedAt)
    const restored = await setDeleted(tx, tenantId, id, false)
    const changes = [describeChange('restored', restored)]
    for (const one of companions)
      changes.push(describeChange('restored', await setDeleted(tx, tenantId, one.id, false)))
    audit({ action: `restore ${kind}`, target: describePlace(object).path, after: restored.properties })
    await appendChanges(tx, tenantId, changes)
    return ok(renderObject(restored, request.baseUrl, { set: 'directoryObjects', typed: true }))
  },
})

const purgeDeletedItem = operation({
  name: 'purgeDeletedItem',
  clause: 'DIR-134',
  summary: 'Delete a deleted object for good',
  method: 'DELETE',
  path,
  permission: { anyRow: rows('delete') },
  right: rightsToDelete(restorableKinds),
  answers: { 204: null },
  async run(context) {
    const { tx, caller, audit } = context
    const object = await findDeleted(context, 'delete', { lock: true })
    const { kind, properties: before } = object
    await beforeWrite(context, describeWrite('purge', object))
    const changes = await purgeObjects(tx, caller.tenantId, [object])
    audit({ action: `purge ${kind}`, target: describePlace(object).path, before })
    await appendChanges(tx, caller.tenantId, changes)
    return noContent
  },
})

/** Deleted objects of one kind, by the name of their type behind deletedItems. */
function deletedSet(resource: Resource): ObjectSet {
  const { kind, set } = resource
  const { searchable: _, ...living } = objectSet(resource)
  const fields = withoutIndexes(fieldsOf([resource]))
  return {
    ...living,
    many: `Deleted${living.many}`,
    collections: [namespace, 'microsoft.graph', 'graph'].map(
      (name) => `/directory/deletedItems/${name}.${kind}`,
    ),
    permissions: { ...living.permissions, read: { row: readDeletedPermissions(kind) } },
    extensionsOn: undefined,
    expandable: undefined,
    readable: () => undefined,
    async openToList({ tx, caller }) {
      return { set, source: { ...sourceOf(tx, caller.tenantId, kind, true), fields } }
    },
  }
}

export const deletedItemOperations = [
  ...restorable.flatMap((resource) => operationsOn(deletedSet(resource), ['list', 'count'])),
  getDeletedItem,
  restoreDeletedItem,
  purgeDeletedItem,
]
