import { type Static, Type } from 'typebox'
import { asSegment, canonicalNamespace, type DatabasePlace, fold, idOf } from '../place.ts'

export const maskingFunctions = ['CCN', 'Default', 'Email', 'Number', 'SSN', 'Text'] as const
export type MaskingFunction = (typeof maskingFunctions)[number]

/** The properties of a rule as they are stored: what does not apply to its function is null. */
export interface RuleProperties {
  readonly schemaName: string
  readonly tableName: string
  readonly columnName: string
  readonly maskingFunction: MaskingFunction
  readonly aliasName: string | null
  readonly numberFrom: string | null
  readonly numberTo: string | null
  readonly prefixSize: string | null
  readonly suffixSize: string | null
  readonly replacementString: string | null
}

export interface Rule extends RuleProperties {
  readonly name: string
  readonly version: number
}

export const nullableString = Type.Unsafe<string | null>({ type: ['string', 'null'] })
const optional = Type.Optional(nullableString)
const strict = { additionalProperties: false }

/** Read-only fields of the envelope: a body that was read before can be sent again. */
export const envelopeInput = {
  id: optional,
  name: optional,
  type: optional,
  location: optional,
  kind: optional,
}

/** Required properties are optional here: that they are missing is said by the rule's own error, all at once. */
export const ruleInput = Type.Object(
  {
    ...envelopeInput,
    properties: Type.Optional(
      Type.Object(
        {
          id: optional,
          schemaName: optional,
          tableName: optional,
          columnName: optional,
          maskingFunction: Type.Optional(
            Type.Unsafe<MaskingFunction | null>({ enum: [...maskingFunctions, null] }),
          ),
          ruleState: Type.Optional(
            Type.Unsafe<'Enabled' | 'Disabled' | null>({ enum: ['Enabled', 'Disabled', null] }),
          ),
          aliasName: optional,
          numberFrom: optional,
          numberTo: optional,
          prefixSize: optional,
          suffixSize: optional,
          replacementString: optional,
        },
        strict,
      ),
    ),
  },
  strict,
)
export type RuleInput = NonNullable<Static<typeof ruleInput>['properties']>

export const ruleAnswer = Type.Object({
  id: Type.String(),
  name: Type.Null(),
  type: Type.String(),
  location: Type.String(),
  kind: nullableString,
  properties: Type.Object({
    id: Type.String(),
    schemaName: Type.String(),
    tableName: Type.String(),
    columnName: Type.String(),
    maskingFunction: Type.Unsafe<MaskingFunction>({ enum: maskingFunctions }),
    ruleState: Type.Unsafe<'Enabled' | 'Disabled'>({ enum: ['Enabled', 'Disabled'] }),
    aliasName: nullableString,
    numberFrom: nullableString,
    numberTo: nullableString,
    prefixSize: nullableString,
    suffixSize: nullableString,
    replacementString: nullableString,
  }),
})

export interface RulePlace {
  readonly place: DatabasePlace
  readonly location: string
}

export function renderRule(
  rule: RuleProperties & { readonly name: string },
  { place, location }: RulePlace,
  namespace: string,
  ruleState: 'Enabled' | 'Disabled' = 'Enabled',
): Static<typeof ruleAnswer> {
  const { schemaName, tableName, columnName } = rule
  return {
    id: ruleId(place, rule.name, namespace),
    name: null,
    type: `${namespace}/servers/databases/dataMaskingPolicies/rules`,
    location,
    kind: null,
    properties: {
      id: `${schemaName}_${tableName}_${columnName}`,
      schemaName,
      tableName,
      columnName,
      maskingFunction: rule.maskingFunction,
      ruleState,
      aliasName: rule.aliasName,
      numberFrom: rule.numberFrom,
      numberTo: rule.numberTo,
      prefixSize: rule.prefixSize,
      suffixSize: rule.suffixSize,
      replacementString: rule.replacementString,
    },
  }
}

export function ruleId(place: DatabasePlace, name: string, namespace: string): string {
  return `${idOf(place, namespace)}/dataMaskingPolicies/Default/rules/${asSegment(name)}`
}

/** What the audit log calls the rule. */
export function ruleTarget(place: DatabasePlace, name: string): string {
  return fold(ruleId(place, name, canonicalNamespace))
}
