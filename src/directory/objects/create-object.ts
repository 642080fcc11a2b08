import { created } from '../../api/operation.ts'
import type { Caller } from '../../auth/caller.ts'
import { appendChanges } from '../../db/change-log.ts'
import type { Query } from '../../db/query.ts'
import type { JsonObject } from '../entities/property.ts'
import { readNewProperties, unknownNames } from '../entities/read-properties.ts'
import { bodySchema, entitySchema, nameOperation } from '../entities/schemas.ts'
import { extensionPropertiesFor } from '../extensions/custom-properties.ts'
import { operation } from '../operation.ts'
import { beforeWrite } from '../write-rules/before-write.ts'
import type { Resource } from './kinds/resource.ts'
import { objectPermissions } from './object-permissions.ts'
import { type DirectoryObject, describeChange, entityTag, insertObject } from './object-store.ts'
import { renderObject } from './render-object.ts'

interface Form {
  readonly name?: string
  /** Refuses what the caller may not set, or what does not go together. */
  readonly check?: (caller: Caller, sent: JsonObject) => void
  /** What the service adds to the properties sent. */
  readonly complete?: (tx: Query, caller: Caller, properties: JsonObject) => Promise<JsonObject>
  /** Properties that are not stored with the object. */
  readonly setAside?: readonly string[]
  /** What else has to be written with the object. */
  readonly also?: (tx: Query, caller: Caller, object: DirectoryObject, sent: JsonObject) => Promise<void>
}

export function createObject(resource: Resource, form: Form = {}) {
  return operation({
    name: form.name ?? nameOperation('create', resource.kind),
    clause: 'DIR-134',
    summary: `Create one of ${resource.set}`,
    method: 'POST',
    path: `/${resource.set}`,
    permission: { row: objectPermissions[resource.kind].create },
    body: bodySchema(resource, 'creation'),
    answers: { 201: entitySchema(resource) },
    async run(context) {
      const { tx, caller, body, request, audit } = context
      const names = unknownNames(resource, body)
      const custom = await extensionPropertiesFor(tx, caller.tenantId, resource.kind, names)
      const sent = readNewProperties(resource, body, custom)
      form.check?.(caller, sent)
      const kept = Object.fromEntries(Object.entries(sent).filter(([name]) => !form.setAside?.includes(name)))
      const properties = (await form.complete?.(tx, caller, kept)) ?? kept
      await beforeWrite(context, {
        verb: 'create',
        kind: resource.kind,
        id: undefined,
        before: {},
        changes: sent,
      })
      const object = await insertObject(tx, caller.tenantId, resource.kind, properties)
      await form.also?.(tx, caller, object, sent)
      audit({
        action: `create ${resource.kind}`,
        target: `/${resource.set}/${object.id}`,
        after: properties,
      })
      await appendChanges(tx, caller.tenantId, [describeChange('created', object)])
      return created(renderObject(object, request.baseUrl), {
        etag: entityTag(object),
        location: `${request.baseUrl}/${resource.set}/${object.id}`,
      })
    },
  })
}
