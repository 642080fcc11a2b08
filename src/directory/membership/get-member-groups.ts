import { Type } from 'typebox'
import { type Answer, ok, type RequestFacts } from '../../api/operation.ts'
import { fail } from '../../kernel/problem.ts'
import { context } from '../entities/schemas.ts'
import { operation } from '../operation.ts'
import { readTarget, type TargetPath, targets } from './targets.ts'

/** More than any token could list: a caller with so many groups is better served by the list of memberships. */
const resultLimit = 11_000
const revisionHeader = 'x-masquerade-revision'

export const identifiers = Type.Object(
  { '@odata.context': context, value: Type.Array(Type.String({ format: 'uuid' })) },
  { title: 'identifiers' },
)

const body = Type.Object({ securityEnabledOnly: Type.Boolean() }, { additionalProperties: false })

/** getMemberObjects differs in name only: it counts roles in its own right, and here both do. */
function getMemberships(name: 'getMemberGroups' | 'getMemberObjects', target: TargetPath) {
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
      const asked = readTarget(tx, caller, target, params)
      const named = asked instanceof Promise ? await asked : asked
      const memberships = await ports.graph.membershipsOf(caller.tenantId, named, {
        securityEnabledOnly,
        includeRoles: !securityEnabledOnly,
        limit: resultLimit + 1,
      })
      const { revision, found, count } = memberships
      if (!found) return fail('ObjectNotFound', { id: params.id ?? caller.objectId })
      if (securityEnabledOnly && found.kind !== 'user' && found.kind !== 'servicePrincipal')
        fail(
          'InvalidRequestContent',
          { reason: "'securityEnabledOnly' can be true only for users and service principals." },
          { target: 'securityEnabledOnly' },
        )
      if (count > resultLimit) fail('ResultSizeLimitExceeded', { limit: resultLimit })
      return answerIds(request, revision, memberships.json)
    },
  })
}

/** Nearly all requests come to the same origin. */
let lastContext = { baseUrl: '', json: '' }

/**
 * The answer of the membership actions. The header tells of which revision of the directory it is. `value` is JSON.
 */
export function answerIds({ baseUrl }: RequestFacts, revision: number, value: string): Answer {
  if (lastContext.baseUrl !== baseUrl)
    lastContext = { baseUrl, json: JSON.stringify(`${baseUrl}/$metadata#Collection(Edm.String)`) }
  const context = lastContext.json
  return ok(`{"@odata.context":${context},"value":${value}}`, { [revisionHeader]: String(revision) })
}

export const getMemberGroups = targets.map((target) => getMemberships('getMemberGroups', target))
export const getMemberObjects = targets.map((target) => getMemberships('getMemberObjects', target))
