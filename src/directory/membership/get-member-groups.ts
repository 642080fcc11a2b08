import { Type } from 'typebox'
import { ok } from '../../api/operation.ts'
import { fail } from '../../kernel/problem.ts'
import { isUuid } from '../../kernel/uuid.ts'
import { operation } from '../operation.ts'
import { findTarget, type Target, targets } from './targets.ts'

/** As many as a token could never list: whoever gets there is better served by the list of memberships. */
const resultLimit = 11_000

export const identifiers = Type.Object({ '@odata.context': Type.String(), value: Type.Array(Type.String()) })

const body = Type.Object({ securityEnabledOnly: Type.Boolean() }, { additionalProperties: false })

/** getMemberObjects differs in name only: it counts roles in its own right, and here both do. */
function getMemberships(name: 'getMemberGroups' | 'getMemberObjects', target: Target) {
  return operation({
    name: `${name}Of${target.noun}`,
    clause: name === 'getMemberGroups' ? 'DIR-32' : 'DIR-138',
    summary:
      'Identifiers of all groups, and directory roles, of which the object is a member through any nesting',
    method: 'POST',
    path: `${target.path}/${name}`,
    permission: { row: target.row },
    reads: true,
    body,
    answers: { 200: identifiers },
    async run({ params, body: { securityEnabledOnly }, caller, tx, request, ports }) {
      const list = (id: string) =>
        ports.graph.groupsOf(caller.tenantId, id, {
          securityEnabledOnly,
          includeRoles: !securityEnabledOnly,
          limit: resultLimit + 1,
        })
      const key = params.id ?? caller.objectId
      // One round trip instead of two; what does not exist has no groups.
      const early = isUuid(key) ? list(key) : undefined
      const [found, earlyIds] = await Promise.all([findTarget(tx, caller, target.kind, params), early])
      if (securityEnabledOnly && found.kind !== 'user' && found.kind !== 'servicePrincipal')
        fail(
          'InvalidRequestContent',
          { reason: "'securityEnabledOnly' can be true only for users and service principals." },
          { target: 'securityEnabledOnly' },
        )
      const ids = earlyIds ?? (await list(found.id))
      if (ids.length > resultLimit) fail('ResultSizeLimitExceeded', { limit: resultLimit })
      return ok({ '@odata.context': `${request.baseUrl}/$metadata#Collection(Edm.String)`, value: ids })
    },
  })
}

export const getMemberGroups = targets.map((target) => getMemberships('getMemberGroups', target))
export const getMemberObjects = targets.map((target) => getMemberships('getMemberObjects', target))
