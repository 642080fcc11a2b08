import { type Static, Type } from 'typebox'
import type { DatabaseRow } from '../databases/database-row.ts'
import { canonicalNamespace, type DatabasePlace, fold, idOf } from '../place.ts'
import { envelopeInput, nullableString } from '../rules/rule.ts'

const strict = { additionalProperties: false }
const state = Type.Unsafe<'Enabled' | 'Disabled'>({ enum: ['Enabled', 'Disabled'] })

/** The legacy properties are taken and have no effect. */
export const policyInput = Type.Object(
  {
    ...envelopeInput,
    properties: Type.Object(
      {
        dataMaskingState: state,
        exemptPrincipals: Type.Optional(nullableString),
        applicationPrincipals: Type.Optional(nullableString),
        maskingLevel: Type.Optional(nullableString),
      },
      strict,
    ),
  },
  strict,
)

export const policyAnswer = Type.Object({
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
})

export type Policy = Pick<DatabaseRow, 'place' | 'location' | 'policyState' | 'exemptPrincipals'>

export function renderPolicy(policy: Policy, namespace: string): Static<typeof policyAnswer> {
  return {
    id: policyId(policy.place, namespace),
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

function policyId(place: DatabasePlace, namespace: string): string {
  return `${idOf(place, namespace)}/dataMaskingPolicies/Default`
}

export function policyTarget(place: DatabasePlace): string {
  return fold(policyId(place, canonicalNamespace))
}
