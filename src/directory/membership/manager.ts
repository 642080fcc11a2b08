import { noContent, ok } from '../../api/operation.ts'
import { appendChanges } from '../../db/change-log.ts'
import type { Query } from '../../db/query.ts'
import { fail } from '../../kernel/problem.ts'
import { entityQuery } from '../entities/entity-view.ts'
import { describeWrite } from '../entities/entity-write.ts'
import { entitySchema } from '../entities/schemas.ts'
import { contextOf } from '../entities/show-entity.ts'
import { user as resource } from '../objects/kinds/user.ts'
import { type DirectoryObject, describeChange, findUser, objectColumns } from '../objects/object-store.ts'
import { readSelect } from '../odata/select.ts'
import { operation } from '../operation.ts'
import { beforeWrite } from '../write-rules/before-write.ts'
import { reference } from './add-member.ts'
import { lockReferences } from './lock-references.ts'
import { readReference } from './object-reference.ts'
import { managerPermissions } from './relations.ts'
import { renderRelated } from './render-related.ts'

function getManager(noun: string, path: string) {
  return operation({
    name: `get${noun}Manager`,
    clause: 'DIR-210',
    summary: 'Get the manager of a user',
    method: 'GET',
    path: `${path}/manager`,
    permission: { row: managerPermissions.read },
    query: entityQuery,
    answers: { 200: entitySchema(resource) },
    async run({ tx, caller, params, query, request }) {
      const select = readSelect(query.$select, [resource])
      const { id } = await findUser(tx, caller.tenantId, params.id ?? caller.objectId)
      const [manager] = await tx<DirectoryObject[]>`
        select ${objectColumns(tx)} from manager_edge e
        join directory_object o on o.tenant_id = e.tenant_id and o.id = e.manager_id
        where e.tenant_id = ${caller.tenantId} and e.user_id = ${id} and o.deleted_at is null`
      if (!manager) return fail('ObjectNotFound', { id: 'manager' })
      return ok({
        '@odata.context': `${contextOf(request.baseUrl, 'directoryObjects', select)}/$entity`,
        ...renderRelated(caller, manager, { typed: true, select }),
      })
    },
  })
}

/** A manager is a reference and gives no right: rights come by roles, groups and ownership alone. */
const setManager = operation({
  name: 'setManager',
  clause: 'DIR-210',
  summary: 'Set the manager of a user',
  method: 'PUT',
  path: '/users/:id/manager/$ref',
  permission: { row: managerPermissions.write },
  right: 'updateUser',
  body: reference,
  answers: { 204: null },
  async run(context) {
    const { tx, caller, params, body, audit } = context
    const { tenantId } = caller
    const sent = readReference(body['@odata.id'], '@odata.id')
    const { id } = await findUser(tx, tenantId, params.id ?? '')
    const { container, objects } = await lockReferences(tx, tenantId, id, [sent], 'no key update')
    const user = container ?? fail('ObjectNotFound', { id })
    const manager = objects[0] ?? fail('ObjectNotFound', { id: sent.key })
    if (manager.kind !== 'user' || manager.id === id) fail('ImpossibleReference', { property: 'manager' })
    await beforeWrite(context, describeWrite('update', user, { manager: manager.id }))
    const before = await readManagerId(tx, tenantId, id)
    await tx`
      insert into manager_edge (tenant_id, user_id, manager_id) values (${tenantId}, ${id}, ${manager.id})
      on conflict (tenant_id, user_id) do update set manager_id = excluded.manager_id, created_at = now()`
    audit({
      action: 'set manager',
      target: `/users/${id}`,
      before: { manager: before },
      after: { manager: manager.id },
    })
    await appendChanges(tx, tenantId, [describeChange('updated', user)])
    return noContent
  },
})

const removeManager = operation({
  name: 'removeManager',
  clause: 'DIR-210',
  summary: 'Remove the manager of a user',
  method: 'DELETE',
  path: '/users/:id/manager/$ref',
  permission: { row: managerPermissions.write },
  right: 'updateUser',
  answers: { 204: null },
  async run(context) {
    const { tx, caller, params, audit } = context
    const { tenantId } = caller
    const user = await findUser(tx, tenantId, params.id ?? '', { lock: true })
    await beforeWrite(context, describeWrite('update', user, { manager: null }))
    const before = await readManagerId(tx, tenantId, user.id)
    if (before === null) fail('ObjectNotFound', { id: 'manager' })
    await tx`delete from manager_edge where tenant_id = ${tenantId} and user_id = ${user.id}`
    audit({ action: 'remove manager', target: `/users/${user.id}`, before: { manager: before } })
    await appendChanges(tx, tenantId, [describeChange('updated', user)])
    return noContent
  },
})

async function readManagerId(tx: Query, tenantId: string, userId: string): Promise<string | null> {
  const [row] = await tx<{ id: string }[]>`
    select manager_id as id from manager_edge where tenant_id = ${tenantId} and user_id = ${userId}`
  return row?.id ?? null
}

export const managerOperations = [
  getManager('User', '/users/:id'),
  getManager('My', '/me'),
  setManager,
  removeManager,
]
