import { type Static, Type } from 'typebox'
import { ok } from '../../api/operation.ts'
import type { Caller } from '../../auth/caller.ts'
import type { PermissionRow } from '../../auth/permission.ts'
import { entitySchema, nameOperation } from '../entities/schemas.ts'
import { expandOption, readExpansion } from '../extensions/expand-extensions.ts'
import { readSelect } from '../odata/select.ts'
import { operation } from '../operation.ts'
import { expandable, showExpanded } from './expand.ts'
import type { Resource } from './kinds/resource.ts'
import { type Locate, locateById } from './locate.ts'
import { objectPermissions, readableProperties } from './object-permissions.ts'
import { entityTag } from './object-store.ts'
import { renderObject } from './render-object.ts'

export const entityQuery = Type.Object({
  $select: Type.Optional(Type.String({ description: 'Properties to return, separated by commas.' })),
})
const expandableQuery = Type.Object({ ...entityQuery.properties, $expand: expandOption })
export type EntityQuery = Static<typeof entityQuery>

interface Form {
  readonly path: string | readonly string[]
  readonly locate: Locate
  readonly permission: PermissionRow
  readonly name: string
  /** What the caller may read of it, if that is not as for any of its kind. */
  readonly readable: (caller: Caller) => ReadonlySet<string> | undefined
}

export function getObject(resource: Resource, form: Partial<Form> = {}) {
  const locate = form.locate ?? locateById(resource.kind)
  return operation({
    name: form.name ?? nameOperation('get', resource.kind),
    clause: 'DIR-134',
    summary: `Get one of ${resource.set}`,
    method: 'GET',
    path: form.path ?? `/${resource.set}/:id`,
    permission: { row: form.permission ?? objectPermissions[resource.kind].read },
    query: expandable.has(resource.kind) ? expandableQuery : (entityQuery as typeof expandableQuery),
    answers: { 200: entitySchema(resource) },
    async run(context) {
      const { caller, query, request } = context
      const readable = form.readable ? form.readable(caller) : readableProperties(caller, resource.kind)
      const select = readSelect(query.$select, [resource])
      const expand = readExpansion(query.$expand)
      const object = await locate(context)
      const [shown] = await showExpanded(
        context,
        expand,
        [renderObject(object, request.baseUrl, { select, readable })],
        [object],
      )
      return ok(shown, { etag: entityTag(object) })
    },
  })
}
