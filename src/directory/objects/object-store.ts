import type { Change } from '../../db/change-log.ts'
import type { Query } from '../../db/query.ts'
import { translateConstraints } from '../../db/sqlstate.ts'
import { foldPrincipalName } from '../../kernel/fold-principal-name.ts'
import { fail, Problem } from '../../kernel/problem.ts'
import { isUuid } from '../../kernel/uuid.ts'
import type { JsonObject, Stored } from '../entities/property.ts'
import { removeValues } from '../extensions/definitions/remove-values.ts'
import type { ObjectKind } from './kinds/resource.ts'
import { principalNameForm } from './kinds/user.ts'

export interface DirectoryObject extends Stored {
  readonly kind: ObjectKind
  readonly createdAt: Date
  readonly deletedAt: Date | null
  readonly version: number
}

const taken = (property: string) => () => new Problem('PropertyTaken', { property }, { target: property })

translateConstraints({
  user_principal_name_is_unique: taken('userPrincipalName'),
  unified_mail_nickname_is_unique: taken('mailNickname'),
  application_app_id_is_unique: taken('appId'),
  service_principal_app_id_is_unique: taken('appId'),
  device_id_is_unique: taken('deviceId'),
  role_template_is_unique: taken('roleTemplateId'),
})

/** Columns of directory_object in the names of `DirectoryObject`; the table's alias is `o`. */
export function objectColumns(tx: Query) {
  return tx`o.id, o.kind, o.properties, o.created_at as "createdAt", o.deleted_at as "deletedAt", o.version`
}

interface FindOptions {
  /** Keeps others from changing the object until the transaction ends. */
  readonly lock?: boolean
  /** Looks among the deleted objects instead. */
  readonly deleted?: boolean
}

/** The object with this id, of one of these kinds or, where none is given, of any kind; else fails with a 404. */
export async function findObject(
  tx: Query,
  tenantId: string,
  kinds: ObjectKind | readonly ObjectKind[],
  id: string,
  options: FindOptions = {},
): Promise<DirectoryObject> {
  const key = readKey(kinds, id)
  const wanted = typeof kinds === 'string' ? [kinds] : [...kinds]
  const [object] = await tx<DirectoryObject[]>`
    select ${objectColumns(tx)} from directory_object o
    where o.tenant_id = ${tenantId} and ${tx.unsafe(key.column)} = ${key.value}
      and ${wanted.length === 0 ? tx`true` : tx`o.kind = any(${wanted})`}
      and ${options.deleted ? tx`o.deleted_at is not null` : tx`o.deleted_at is null`}
    ${options.lock ? tx`for update` : tx``}`
  return object ?? fail('ObjectNotFound', { id })
}

/** The SQL of keys other than the id, as in `/applications(appId='…')`. */
const alternateKeys: Partial<Record<ObjectKind, Readonly<Record<string, string>>>> = {
  application: { appid: 'o.app_id' },
  servicePrincipal: { appid: 'o.app_id' },
  device: { deviceid: "o.properties ->> 'deviceId'" },
  directoryRole: { roletemplateid: "o.properties ->> 'roleTemplateId'" },
}

function readKey(kinds: ObjectKind | readonly ObjectKind[], id: string): { column: string; value: string } {
  if (isUuid(id)) return { column: 'o.id', value: id }
  const [, name = '', value = ''] = /^([A-Za-z]+)=(.+)$/.exec(id) ?? []
  const keys = typeof kinds === 'string' ? alternateKeys[kinds] : undefined
  const column = keys && Object.hasOwn(keys, name.toLowerCase()) ? keys[name.toLowerCase()] : undefined
  if (column === undefined || !isUuid(value)) return fail('InvalidObjectIdentifier', { id: id.slice(0, 200) })
  return { column: `(${column})`, value: value.toLowerCase() }
}

/** A user by id or userPrincipalName. */
export async function findUser(
  tx: Query,
  tenantId: string,
  idOrName: string,
  options: FindOptions = {},
): Promise<DirectoryObject> {
  if (isUuid(idOrName)) return findObject(tx, tenantId, 'user', idOrName, options)
  if (!principalNameForm.test(idOrName)) fail('InvalidObjectIdentifier', { id: idOrName.slice(0, 200) })
  const [object] = await tx<DirectoryObject[]>`
    select ${objectColumns(tx)} from directory_object o
    where o.tenant_id = ${tenantId} and o.folded_principal_name = ${foldPrincipalName(idOrName)}
      and o.kind = 'user' and o.deleted_at is null
    ${options.lock ? tx`for update` : tx``}`
  return object ?? fail('ObjectNotFound', { id: idOrName })
}

export async function insertObject(
  tx: Query,
  tenantId: string,
  kind: ObjectKind,
  properties: JsonObject,
  id: string = crypto.randomUUID(),
): Promise<DirectoryObject> {
  const [object] = await tx<DirectoryObject[]>`
    insert into directory_object as o (tenant_id, id, kind, properties)
    values (${tenantId}, ${id}, ${kind}, ${tx.json(properties)})
    returning ${objectColumns(tx)}`
  return written(object)
}

/** Stores changed properties; null clears one. Lock the object first: all its properties are written. */
export async function updateObject(
  tx: Query,
  tenantId: string,
  object: DirectoryObject,
  changes: JsonObject,
): Promise<DirectoryObject> {
  const merged = { ...object.properties, ...changes }
  const properties = Object.fromEntries(Object.entries(merged).filter(([, value]) => value !== null))
  const [updated] = await tx<DirectoryObject[]>`
    update directory_object o set properties = ${tx.json(properties)}, version = o.version + 1
    where o.tenant_id = ${tenantId} and o.id = ${object.id}
    returning ${objectColumns(tx)}`
  return written(updated)
}

/** Deletes an object so that it can be restored, or restores it. The edges of a deleted object stay. */
export async function setDeleted(
  tx: Query,
  tenantId: string,
  id: string,
  isDeleted: boolean,
): Promise<DirectoryObject> {
  const [object] = await tx<DirectoryObject[]>`
    update directory_object o set deleted_at = ${isDeleted ? tx`now()` : tx`null`}, version = o.version + 1
    where o.tenant_id = ${tenantId} and o.id = ${id}
    returning ${objectColumns(tx)}`
  return written(object)
}

/** Deletes locked objects so that they can be restored. Returns the changes for the log. */
export async function deleteObjects(
  tx: Query,
  tenantId: string,
  objects: readonly DirectoryObject[],
): Promise<Change[]> {
  if (objects.length === 0) return []
  const deleted = await tx<DirectoryObject[]>`
    update directory_object o set deleted_at = now(), version = o.version + 1
    where o.tenant_id = ${tenantId} and o.id = any(${objects.map(({ id }) => id)}::uuid[])
    returning ${objectColumns(tx)}`
  return deleted.map((object) => describeChange('deleted', object))
}

/**
 * Deletes locked objects for good, with their edges, extensions and items. Returns the changes for the log: the
 * memberships they had are among them, because readers of the log cannot look them up any more.
 */
export async function purgeObjects(
  tx: Query,
  tenantId: string,
  objects: readonly DirectoryObject[],
): Promise<Change[]> {
  if (objects.length === 0) return []
  const ids = objects.map(({ id }) => id)
  const edges = await tx<{ id: string; kind: string; member: string }[]>`
    delete from member_edge e using directory_object o
    where e.tenant_id = ${tenantId} and e.member_id = any(${ids}::uuid[])
      and o.tenant_id = e.tenant_id and o.id = e.container_id
    returning o.id, o.kind, e.member_id as member`
  const defined = await tx<{ name: string }[]>`
    delete from extension_property where tenant_id = ${tenantId} and application_id = any(${ids}::uuid[]) returning name`
  await tx`delete from directory_object where tenant_id = ${tenantId} and id = any(${ids}::uuid[])`
  const cleared: Change[] = []
  for (const { name } of defined) cleared.push(...(await removeValues(tx, tenantId, name)))
  return [
    ...cleared,
    ...edges.map(({ id, kind, member }) => ({
      entity: kind,
      entityId: id,
      kind: 'memberRemoved',
      data: { id: member },
    })),
    ...objects.map((object) => describeChange('purged', object)),
  ]
}

function written(object: DirectoryObject | undefined): DirectoryObject {
  if (!object) throw new Error('a write of a directory object returned no row')
  return object
}

export type ObjectChange = 'created' | 'updated' | 'deleted' | 'restored' | 'purged'

/** The change log's entry about an object, for `appendChanges` at the end of the transaction. */
export function describeChange(change: ObjectChange, object: DirectoryObject): Change {
  return { entity: object.kind, entityId: object.id, kind: change, data: { version: object.version } }
}
