import { noContent } from '../../api/operation.ts'
import type { Caller } from '../../auth/caller.ts'
import type { PermissionRow } from '../../auth/permission.ts'
import { appendChanges } from '../../db/change-log.ts'
import type { Query } from '../../db/query.ts'
import type { JsonObject } from '../entities/property.ts'
import { readChangedProperties, unknownNames } from '../entities/read-properties.ts'
import { bodySchema, nameOperation } from '../entities/schemas.ts'
import { extensionPropertiesFor } from '../extensions/custom-properties.ts'
import { operation } from '../operation.ts'
import { beforeWrite } from '../write-rules/before-write.ts'
import type { Resource } from './kinds/resource.ts'
import { type Locate, locateById } from './locate.ts'
import { objectPermissions } from './object-permissions.ts'
import { checkPrecondition, type DirectoryObject, describeChange, updateObject } from './object-store.ts'

interface Form {
  readonly path: string | readonly string[]
  readonly locate: Locate
  readonly permission: PermissionRow
  readonly name: string
  /** Refuses what the caller may not change. */
  readonly check: (caller: Caller, changes: JsonObject) => void
  /** Properties that are not stored with the object. */
  readonly setAside: readonly string[]
  readonly also: (tx: Query, caller: Caller, object: DirectoryObject, sent: JsonObject) => Promise<void>
}

export function updateObjectOf(resource: Resource, form: Partial<Form> = {}) {
  const locate = form.locate ?? locateById(resource.kind)
  return operation({
    name: form.name ?? nameOperation('update', resource.kind),
    clause: 'DIR-134',
    summary: `Update one of ${resource.set}`,
    method: 'PATCH',
    path: form.path ?? `/${resource.set}/:id`,
    permission: { row: form.permission ?? objectPermissions[resource.kind].update },
    body: bodySchema(resource, 'update'),
    answers: { 204: null },
    async run(context) {
      const { tx, caller, body, request, audit } = context
      const names = unknownNames(resource, body)
      const custom = await extensionPropertiesFor(tx, caller.tenantId, resource.kind, names)
      const before = await locate(context, { lock: true })
      const sent = readChangedProperties(resource, body, custom, before.properties)
      form.check?.(caller, sent)
      const { id, kind, properties } = before
      await beforeWrite(context, { verb: 'update', kind, id, before: properties, changes: sent })
      checkPrecondition(request, before)
      const changes = Object.fromEntries(
        Object.entries(sent).filter(([name]) => !form.setAside?.includes(name)),
      )
      const after = await updateObject(tx, caller.tenantId, before, changes)
      await form.also?.(tx, caller, after, sent)
      audit({
        action: `update ${resource.kind}`,
        target: `/${resource.set}/${after.id}`,
        before: before.properties,
        after: after.properties,
      })
      await appendChanges(tx, caller.tenantId, [describeChange('updated', after)])
      return noContent
    },
  })
}
