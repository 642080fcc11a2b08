import { Type } from 'typebox'
import { fail } from '../../kernel/problem.ts'
import { isUuid } from '../../kernel/uuid.ts'
import { operation } from '../operation.ts'
import { answerIds, identifiers } from './get-member-groups.ts'
import { readTarget, type TargetPath, targets } from './targets.ts'

const mostIds = 20
const id = Type.String({ examples: ['20000000-0000-4000-8000-000000000001'] })
const ids = Type.Array(id, { maxItems: mostIds, description: `At most ${mostIds} identifiers` })

const checks = {
  checkMemberGroups: Type.Object({ groupIds: ids }, { additionalProperties: false }),
  checkMemberObjects: Type.Object({ ids }, { additionalProperties: false }),
}

function checkMemberships(name: keyof typeof checks, target: TargetPath) {
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
      const wanted = await readTarget(tx, caller, target, params)
      const { revision, found, ids } = await ports.graph.membershipsAmong(caller.tenantId, wanted, asked, {
        includeRoles: name === 'checkMemberObjects',
      })
      if (!found) return fail('ObjectNotFound', { id: params.id ?? caller.objectId })
      return answerIds(request, revision, JSON.stringify(ids))
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
