import { type Static, Type } from 'typebox'
import { type Child, childKind, childTable } from '../children.ts'
import type { DatabaseRow } from '../databases/database-row.ts'
import { originalApiVersions, specifiedVersion } from '../operation.ts'
import { fillPath, policyPath } from '../place.ts'
import type { Kind } from '../resource.ts'
import { each, envelopeInput, nullableString, oneOf, optionalString, strict } from '../schemas.ts'
import {
  allFields,
  columnFields,
  maskingFunctions,
  optionalFields,
  pick,
  type RuleProperties,
  requiredFields,
} from './rule-fields.ts'

export interface Rule extends Child<RuleProperties>, Pick<DatabaseRow, 'place' | 'location'> {}

/** Required properties are optional here: that they are missing is said by the rule's own error, all at once. */
export const ruleInput = Type.Object(
  {
    ...envelopeInput,
    properties: Type.Optional(
      Type.Object(
        {
          id: optionalString,
          ...each(columnFields, optionalString),
          maskingFunction: Type.Optional(oneOf([...maskingFunctions, null])),
          ruleState: Type.Optional(oneOf(['Enabled', 'Disabled', null])),
          ...each(optionalFields, optionalString),
        },
        strict,
      ),
    ),
  },
  strict,
)

const example = {
  schemaName: 'public',
  tableName: 'passenger',
  columnName: 'email',
  maskingFunction: 'Email',
} as const

/** The same with what a rule must have. */
export const describedRule = Type.Object(
  {
    ...ruleInput.properties,
    properties: Type.Object(
      {
        ...ruleInput.properties.properties.properties,
        ...each(columnFields, Type.String({ minLength: 1, maxLength: 128 })),
        maskingFunction: oneOf(maskingFunctions),
      },
      strict,
    ),
  },
  { ...strict, title: 'newRule', examples: [{ properties: example }] },
)
export type RuleInput = NonNullable<Static<typeof ruleInput>['properties']>

export const ruleAnswer = Type.Object(
  {
    id: Type.String(),
    name: nullableString,
    type: Type.String(),
    location: Type.String(),
    kind: nullableString,
    properties: Type.Object(
      {
        id: Type.String(),
        ...each(columnFields, Type.String()),
        maskingFunction: oneOf(maskingFunctions),
        ruleState: oneOf(['Enabled', 'Disabled']),
        ...each(optionalFields, nullableString),
      },
      { examples: [{ id: 'public_passenger_email', ...example }] },
    ),
  },
  { title: 'rule' },
)

export const rulePath = `${policyPath}/rules/:dataMaskingRuleName`

export function renderRule(
  rule: Rule,
  namespace: string,
  apiVersion: string = specifiedVersion,
  ruleState: 'Enabled' | 'Disabled' = 'Enabled',
): Static<typeof ruleAnswer> {
  return {
    id: fillPath(rulePath, { ...rule.place, dataMaskingRuleName: rule.name }, namespace),
    name: apiVersion === specifiedVersion ? null : rule.name,
    type: `${namespace}/servers/databases/dataMaskingPolicies/rules`,
    location: rule.location,
    kind: null,
    properties: {
      id: columnFields.map((field) => rule[field]).join('_'),
      ...pick(rule, requiredFields),
      ruleState,
      ...pick(rule, optionalFields),
    },
  }
}

export const ruleRows = childTable<RuleProperties>({
  table: 'masking_rule',
  fields: allFields,
  unique: columnFields,
})

export const ruleParts = {
  rows: ruleRows,
  parameter: 'dataMaskingRuleName',
  complete: (_site: unknown, { place, location }: DatabaseRow, rows: readonly Child<RuleProperties>[]) =>
    rows.map((rule): Rule => ({ ...rule, place, location })),
}

export const ruleKind: Kind<Rule, DatabaseRow | null> = {
  ...childKind<RuleProperties, Rule>(ruleParts),
  noun: 'Rule',
  plural: 'Rules',
  clause: 'MASK-106',
  listClause: 'MASK-54',
  summary: {
    get: 'Get one masking rule',
    list: 'List the masking rules of a database',
    delete: 'Delete one masking rule; 204 when there was none',
  },
  action: 'Vendor.Sql/servers/databases/dataMaskingPolicies/rules',
  apiVersions: originalApiVersions,
  path: rulePath,
  listPath: `${policyPath}/rules`,
  answer: ruleAnswer,
  render: renderRule,
}
