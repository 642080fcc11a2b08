import { type Static, Type } from 'typebox'
import type { DatabaseRow } from '../databases/database-row.ts'
import { refuseContent } from '../faults.ts'
import { ownApiVersion } from '../operation.ts'
import { fillPath, policyPath } from '../place.ts'
import { envelopeInput, nullableString, oneOf, optionalString, strict } from '../schemas.ts'

const state = oneOf(['Enabled', 'Disabled'])

/** What becomes of writes that add masks which would not contain every role. */
export const notContainedField = oneOf(['report', 'refuse'], {
  description: 'Whether masks that would not contain every database role are refused; of version 2026-11-01',
})

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
        notContained: Type.Optional(notContainedField),
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
      notContained: Type.Optional(notContainedField),
    }),
  },
  { title: 'policy' },
)

export type Policy = Pick<
  DatabaseRow,
  'place' | 'location' | 'policyState' | 'exemptPrincipals' | 'notContained'
>

/** The setting of a body; undefined: it stays as it is. Earlier versions do not know it. */
export function readNotContained(
  sent: DatabaseRow['notContained'] | undefined,
  apiVersion: string | undefined,
  target: string,
): DatabaseRow['notContained'] | undefined {
  if (sent !== undefined && apiVersion !== ownApiVersion)
    refuseContent(target, `needs api-version ${ownApiVersion}`)
  return sent
}

export function renderPolicy(
  policy: Policy,
  namespace: string,
  apiVersion?: string,
): Static<typeof policyAnswer> {
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
      ...(apiVersion === ownApiVersion && { notContained: policy.notContained }),
    },
  }
}
