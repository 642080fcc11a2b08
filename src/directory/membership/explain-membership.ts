import { Type } from 'typebox'
import { ok } from '../../api/operation.ts'
import { fail } from '../../kernel/problem.ts'
import { collectionSchema, objectSchema } from '../entities/schemas.ts'
import { type DirectoryObject, objectColumns } from '../objects/object-store.ts'
import { renderItem } from '../objects/render-object.ts'
import { operation } from '../operation.ts'
import { getMemberGroupsPermissions } from '../permissions.ts'
import { readObjectId } from './object-reference.ts'

export const explainMembership = operation({
  name: 'explainMembership',
  clause: 'DIR-145',
  summary: 'The shortest chain of groups that makes an object a member of a group',
  method: 'POST',
  path: '/directoryObjects/:id/explainMembership',
  permission: { row: getMemberGroupsPermissions['directory object'] },
  reads: true,
  body: Type.Object({ groupId: Type.String() }, { additionalProperties: false }),
  answers: {
    200: collectionSchema(objectSchema, 'directoryObjectCollection'),
  },
  async run({ params, body, caller, tx, request, ports }) {
    const groupId = readObjectId(body.groupId)
    const id = readObjectId(params.id)
    const { hasObject, hasGroup, chain } = await ports.graph.explain(caller.tenantId, id, groupId)
    if (!hasObject) fail('ObjectNotFound', { id })
    if (!hasGroup) fail('ObjectNotFound', { id: groupId })
    if (!chain) return fail('NotAMember', { id, groupId })
    const rows = await tx<DirectoryObject[]>`
      select ${objectColumns(tx)} from directory_object o
      where o.tenant_id = ${caller.tenantId} and o.id = any(${[...chain]}::uuid[])`
    const groups = new Map(rows.map((row) => [row.id, row]))
    const value = chain.flatMap((step) => {
      const group = groups.get(step)
      return group ? [renderItem(group, { typed: true, select: ['id', 'displayName'] })] : []
    })
    return ok({ '@odata.context': `${request.baseUrl}/$metadata#directoryObjects`, value })
  },
})
