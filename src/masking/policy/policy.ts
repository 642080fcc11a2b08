import { type Static, Type } from 'typebox'
import type { DatabaseRow } from '../databases/database-row.ts'
import { fillPath, policyPath } from '../place.ts'
import { envelopeInput, nullableString, oneOf, optionalString, strict } from '../schemas.ts'

const state = oneOf(['Enabled', 'Disabled'])

/** The legacy properties are taken and have no effect. */
export const policyInput = Type.Object(
  {
    ...envelopeInput,
    properties: Type.Object(
      {
        dataMaskingState: state,
        exemptPrincipals: optionalString,
        applicationPrincipals: optionalString,
        maskingLevel: optionalString,
      },
      strict,
    ),
  },
  {
    ...strict,
    title: 'newPolicy',
    examples: [
      { properties: { dataMaskingState: 'Enabled', exemptPrincipals: 'auditors;maren@ferries.example' } },
    ],
  },
)

export const policyAnswer = Type.Object(
  {
    id: Type.String(),
    name: Type.Literal('Default'),
    type: Type.String(),
    location: Type.String(),
    kind: nullableString,
    properties: Type.Object({
      dataMaskingState: state,
      exemptPrincipals: Type.String(),
      applicationPrincipals: Type.String(),
      maskingLevel: Type.String(),
    }),
  },
  { title: 'policy' },
)

export type Policy = Pick<DatabaseRow, 'place' | 'location' | 'policyState' | 'exemptPrincipals'>

export function renderPolicy(policy: Policy, namespace: string): Static<typeof policyAnswer> {
  return {
    id: fillPath(policyPath, { ...policy.place }, namespace),
    name: 'Default',
    type: `${namespace}/servers/databases/dataMaskingPolicies`,
    location: policy.location,
    kind: null,
    properties: {
      dataMaskingState: policy.policyState,
      exemptPrincipals: policy.exemptPrincipals,
      applicationPrincipals: '',
      maskingLevel: '',
    },
  }
}
