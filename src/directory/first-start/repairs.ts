import type { Change } from '../../db/change-log.ts'
import type { Tx } from '../../db/database.ts'
import type { Fragment } from '../../db/query.ts'
import {
  describeRegistration,
  type Registration,
  type RegistrationWishes,
} from '../applications/registrations.ts'
import type { JsonObject } from '../entities/property.ts'
import type { ObjectKind } from '../objects/kinds/resource.ts'
import {
  type DirectoryObject,
  describeChange,
  insertObject,
  objectColumns,
  setDeleted,
  updateObject,
} from '../objects/object-store.ts'

/** A transaction that brings objects back, what it changed, and what it did in words. */
export interface Repairs {
  readonly tx: Tx
  readonly tenantId: string
  readonly changes: Change[]
  readonly steps: string[]
}

/** Finds the object by a condition on `o`, undeletes and enables it; creates it where there is none. */
export async function ensureObject(
  { tx, tenantId, changes, steps }: Repairs,
  kind: ObjectKind,
  condition: Fragment,
  fresh: JsonObject,
): Promise<DirectoryObject> {
  const [found] = await tx<DirectoryObject[]>`
    select ${objectColumns(tx)} from directory_object o
    where o.tenant_id = ${tenantId} and o.kind = ${kind} and ${condition}
    order by o.deleted_at desc nulls first limit 1 for update`
  const nameOf = ({ properties }: DirectoryObject) =>
    `the ${kind} '${properties.userPrincipalName ?? properties.displayName}'`
  if (!found) {
    const created = await insertObject(tx, tenantId, kind, fresh)
    changes.push(describeChange('created', created))
    steps.push(`created ${nameOf(created)}`)
    return created
  }
  let object = found
  if (found.deletedAt !== null) {
    object = await setDeleted(tx, tenantId, found.id, false)
    steps.push(`restored ${nameOf(object)}`)
  }
  if (object.properties.accountEnabled === false) {
    object = await updateObject(tx, tenantId, object, { accountEnabled: true })
    steps.push(`enabled ${nameOf(object)}`)
  }
  if (object !== found) changes.push(describeChange(found.deletedAt ? 'restored' : 'updated', object))
  return object
}

/** An application and its service principal, both there and enabled. */
export async function ensureRegistration(
  repairs: Repairs,
  wishes: RegistrationWishes & { readonly appId: string },
): Promise<Registration> {
  const { appId, displayName } = wishes
  const { application, principal } = describeRegistration(repairs.tenantId, wishes)
  const hasAppId = repairs.tx`o.app_id = ${appId}`
  const { id: applicationId } = await ensureObject(repairs, 'application', hasAppId, application)
  const { id: servicePrincipalId } = await ensureObject(repairs, 'servicePrincipal', hasAppId, principal)
  return { appId, displayName, applicationId, servicePrincipalId }
}
