import { Type } from 'typebox'
import { ok } from '../../api/operation.ts'
import { fail } from '../../kernel/problem.ts'
import { isUuid } from '../../kernel/uuid.ts'
import { operation } from '../operation.ts'
import { identifiers } from './get-member-groups.ts'
import { findTarget, type Target, targets } from './targets.ts'

const mostIds = 20
const ids = Type.Array(Type.String(), { maxItems: mostIds, description: `At most ${mostIds} identifiers` })

const checks = {
  checkMemberGroups: Type.Object({ groupIds: ids }, { additionalProperties: false }),
  checkMemberObjects: Type.Object({ ids }, { additionalProperties: false }),
}

function checkMemberships(name: keyof typeof checks, target: Target) {
  return operation({
    name: `${name}Of${target.noun}`,
    clause: 'DIR-138',
    summary: 'Which of the given groups the object is a member of, through any nesting',
    method: 'POST',
    path: `${target.path}/${name}`,
    permission: { row: target.row },
    reads: true,
    body: checks[name],
    answers: { 200: identifiers },
    async run({ params, body, caller, tx, request, ports }) {
      const asked = readIds('groupIds' in body ? body.groupIds : body.ids)
      const { id } = await findTarget(tx, caller, target.kind, params)
      const value = await ports.graph.groupsAmong(caller.tenantId, id, asked, {
        includeRoles: name === 'checkMemberObjects',
      })
      return ok({ '@odata.context': `${request.baseUrl}/$metadata#Collection(Edm.String)`, value })
    },
  })
}

function readIds(sent: readonly string[]): string[] {
  const asked = sent.map((id) =>
    isUuid(id) ? id.toLowerCase() : fail('InvalidObjectIdentifier', { id: id.slice(0, 200) }),
  )
  return [...new Set(asked)]
}

export const checkMemberGroups = targets.map((target) => checkMemberships('checkMemberGroups', target))
export const checkMemberObjects = targets.map((target) => checkMemberships('checkMemberObjects', target))
