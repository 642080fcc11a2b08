import { noContent } from '../../api/operation.ts'
import { appendChanges } from '../../db/change-log.ts'
import type { Query } from '../../db/query.ts'
import { fail } from '../../kernel/problem.ts'
import { describeWrite } from '../entities/entity-write.ts'
import { describeChange, findUser } from '../objects/object-store.ts'
import { operation } from '../operation.ts'
import { beforeWrite } from '../write-rules/before-write.ts'
import { reference } from './add-member.ts'
import { lockReferences } from './lock-references.ts'
import { readReference } from './object-reference.ts'
import { managerPermissions } from './relations.ts'

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
    const { container, objects } = await lockReferences(tx, tenantId, id, [sent], 'no key update', {
      givesRights: false,
    })
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

export const managerOperations = [setManager, removeManager]
