import { Type } from 'typebox'
import type { Verdict } from '../../contracts/verdict.ts'
import { nullableString, oneOf } from '../schemas.ts'

/** An answer about something else shows so many roles at most. */
const mostShown = 100

const kinds = ['attribute', 'membership', 'ownership', 'code', 'privilege', 'server'] as const
export const verdictNames = ['Contained', 'NotContained'] as const

export const roleVerdict = Type.Object(
  {
    role: Type.String(),
    canLogIn: Type.Boolean(),
    verdict: oneOf(verdictNames),
    reasons: Type.Array(
      Type.Object({
        kind: oneOf(kinds),
        text: Type.String({ description: 'Goes on behind the name of the role' }),
        statement: Type.Unsafe<string | null>({
          type: ['string', 'null'],
          description: 'SQL that removes the reason; null: only an exemption does',
        }),
        via: Type.Unsafe<string | null>({
          ...nullableString,
          description: 'The role through which it holds, or PUBLIC',
        }),
      }),
    ),
  },
  { title: 'roleVerdict' },
)

export function renderVerdict({ role, canLogIn, contained, reasons }: Verdict) {
  const verdict = verdictNames[contained ? 0 : 1]
  return { role, canLogIn, verdict, reasons: [...reasons] }
}

/** Null: the database is not bound, or could not be looked into. */
export const proposedContainment = Type.Union([
  Type.Object({
    notContained: Type.Integer({ description: 'The database roles that these masks do not contain' }),
    roles: Type.Array(roleVerdict, { description: `The first ${mostShown} of them` }),
  }),
  Type.Null(),
])

export function renderContainment(verdicts: readonly Verdict[] | null) {
  if (!verdicts) return null
  const open = verdicts.filter(({ contained }) => !contained)
  return { notContained: open.length, roles: open.slice(0, mostShown).map(renderVerdict) }
}
