import { Type } from 'typebox'
import { ok } from '../../api/operation.ts'
import { queryOption } from '../../api/query-option.ts'
import type { Verdict } from '../../contracts/verdict.ts'
import { fail } from '../../kernel/problem.ts'
import { findDatabase } from '../databases/database-row.ts'
import { operation, ownApiVersions, withEnforcement } from '../operation.ts'
import { decodeSkipToken, encodeSkipToken, nextLink } from '../page.ts'
import { policyPath, readDatabasePlace, scopeOf } from '../place.ts'
import { oneOf } from '../schemas.ts'
import { lookInto } from './inspection.ts'
import { renderVerdict, roleVerdict, verdictNames } from './verdict.ts'

const pageSize = 500

export const listContainment = operation({
  name: 'listContainment',
  clause: 'MASK-280',
  summary: 'Say of each database role whether masks contain it, and what removes each reason why not',
  method: 'GET',
  path: `${policyPath}/containment`,
  apiVersions: ownApiVersions,
  permission: { action: 'Vendor.Sql/servers/databases/dataMaskingPolicies/read', scope: scopeOf },
  query: Type.Object({
    verdict: Type.Optional(oneOf(verdictNames, { description: 'Roles with this verdict alone' })),
    $skipToken: queryOption('Where the next page starts; part of nextLink.'),
  }),
  answers: {
    200: Type.Object({
      value: Type.Array(roleVerdict),
      notContained: Type.Integer({ description: 'The number of all roles that are not contained' }),
      nextLink: Type.Optional(Type.String({ format: 'uri' })),
    }),
  },

  async run({ params, query: { verdict, $skipToken }, caller, tx, ports, confirm, request }) {
    if (verdict !== undefined && !verdictNames.includes(verdict))
      fail('InvalidQueryOption', { option: 'verdict', reason: `must be ${verdictNames.join(' or ')}` })
    const database = await findDatabase(tx, caller.tenantId, readDatabasePlace(params))
    const position = decodeSkipToken($skipToken, 2)
    const found = database?.bound ? await ports.inspection.findVerdicts(lookInto(database, confirm)) : []
    const wanted = found.filter(({ contained }) => !verdict || contained === (verdict === 'Contained'))
    const rest = position ? wanted.filter((one) => isBehind(position, placeOf(one))) : wanted
    const page = rest.slice(0, pageSize)
    const last = page.at(-1)
    const next = last &&
      rest.length > pageSize && {
        nextLink: nextLink(request, {
          'api-version': request.apiVersion,
          verdict,
          $skipToken: encodeSkipToken(placeOf(last)),
        }),
      }
    const notContained = found.filter(({ contained }) => !contained).length
    return withEnforcement(
      ok({ value: page.map(renderVerdict), notContained, ...next }),
      database,
      ports,
      false,
    )
  },
})

/** Roles that can log in come first, each part in the order of its names. */
function placeOf({ role, canLogIn }: Verdict): readonly [group: string, role: string] {
  return [canLogIn ? '0' : '1', role]
}

function isBehind(
  [group = '', role = '']: readonly string[],
  [ofGroup, name]: readonly [string, string],
): boolean {
  return ofGroup > group || (ofGroup === group && name > role)
}
