import { fail } from '../../kernel/problem.ts'
import { compareDecimals, parseDecimal } from '../decimal.ts'
import { type Fault, failOn } from '../faults.ts'
import type { RuleInput } from './rule.ts'
import {
  columnFields,
  type OptionalField,
  optionalFields,
  type RequiredField,
  type RuleProperties,
  requiredFields,
  ruleFields,
} from './rule-fields.ts'

export type RuleFault = Fault & { readonly field: keyof RuleProperties }

const longestText = 128
const largestSize = 2_147_483_647n

/** The four required properties, which every PUT needs, also the one that deletes. */
export function requireNames(input: RuleInput): Pick<RuleProperties, RequiredField> {
  const names = checkNames(input)
  if ('named' in names) return names.named
  refuseRule(names.faults)
  return fail('InternalServerError')
}

function checkNames(
  input: RuleInput,
): { readonly named: Pick<RuleProperties, RequiredField> } | { readonly faults: readonly RuleFault[] } {
  const missing = requiredFields
    .filter((field) => !input[field])
    .map((field) => ({ field, reason: input[field] === '' ? 'must not be empty' : 'is required' }))
  const { schemaName, tableName, columnName, maskingFunction } = input
  if (!schemaName || !tableName || !columnName || !maskingFunction) return { faults: missing }
  const named = { schemaName, tableName, columnName, maskingFunction }
  const faults = columnFields.flatMap((field) => checkText(field, named[field]))
  return faults.length > 0 ? { faults } : { named }
}

/** All that can be said about a rule without its database. */
export function validateRule(input: RuleInput): RuleProperties {
  const { rule, faults } = checkRule(input)
  refuseRule(faults)
  return rule ?? fail('InternalServerError')
}

/** The rule as it would be stored, or everything that is wrong with it. */
export function checkRule(input: RuleInput): {
  readonly rule?: RuleProperties
  readonly faults: readonly RuleFault[]
} {
  const names = checkNames(input)
  if ('faults' in names) return names
  const { named } = names
  const applies = (field: OptionalField) =>
    !('only' in ruleFields[field]) || ruleFields[field].only === named.maskingFunction
  const options = optionalFields.map((field) => [field, applies(field) ? (input[field] ?? null) : null])
  const rule = { ...named, ...(Object.fromEntries(options) as Record<OptionalField, string | null>) }
  const check = (kind: string, find: (field: OptionalField, value: string | null) => RuleFault[]) =>
    optionalFields
      .filter((field) => ruleFields[field].kind === kind && applies(field))
      .flatMap((field) => find(field, rule[field]))
  const bounds = check('bound', checkBound)
  const faults = [
    ...check('text', checkText),
    ...bounds,
    ...(bounds.length === 0 ? checkOrder(rule) : []),
    ...check('size', checkSize),
  ]
  return { rule, faults }
}

export function refuseRule(faults: readonly RuleFault[]): void {
  failOn('InvalidDataMaskingRule', faults)
}

/** Longer texts, or ones that PostgreSQL would not give back as they came, are refused. */
function checkText(field: keyof RuleProperties, text: string | null): RuleFault[] {
  if (text === null) return []
  if ([...text].length > longestText)
    return [{ field, reason: `must have at most ${longestText} characters` }]
  if (text.includes('\0') || !text.isWellFormed())
    return [{ field, reason: 'must be well-formed Unicode without the character U+0000' }]
  return []
}

function checkBound(field: OptionalField, text: string | null): RuleFault[] {
  if (text === null) return [{ field, reason: "is required when 'properties.maskingFunction' is Number" }]
  if (text.length <= longestText && parseDecimal(text)) return []
  return [
    {
      field,
      reason: `must be a decimal number of at most ${longestText} characters, such as "0" or "-12.50"`,
    },
  ]
}

function checkOrder({ numberFrom, numberTo }: RuleProperties): RuleFault[] {
  const [from, to] = [parseDecimal(numberFrom ?? ''), parseDecimal(numberTo ?? '')]
  return from && to && compareDecimals(from, to) > 0
    ? [{ field: 'numberFrom', reason: "must not be greater than 'properties.numberTo'" }]
    : []
}

function checkSize(field: OptionalField, text: string | null): RuleFault[] {
  if (text === null || (/^\d{1,20}$/.test(text) && BigInt(text) <= largestSize)) return []
  return [{ field, reason: `must be a whole number from "0" to "${largestSize}"` }]
}
