import { type Detail, fail } from '../../kernel/problem.ts'
import { compareDecimals, parseDecimal } from '../decimal.ts'
import type { RuleInput, RuleProperties } from './rule.ts'

/** What a field is and what would be right. */
export interface Fault {
  readonly field: keyof RuleProperties
  readonly reason: string
}

type Named = Pick<RuleProperties, 'schemaName' | 'tableName' | 'columnName' | 'maskingFunction'>

const longestText = 128
const largestSize = 2_147_483_647n

/** The four required properties, which every PUT needs, also the one that deletes. */
export function requireNames(input: RuleInput): Named {
  const { schemaName, tableName, columnName, maskingFunction } = input
  if (schemaName && tableName && columnName && maskingFunction) {
    const faults = [
      ...checkText('schemaName', schemaName),
      ...checkText('tableName', tableName),
      ...checkText('columnName', columnName),
    ]
    failOn(faults)
    return { schemaName, tableName, columnName, maskingFunction }
  }
  const missing = (['schemaName', 'tableName', 'columnName', 'maskingFunction'] as const)
    .filter((field) => !input[field])
    .map((field) => ({ field, reason: input[field] === '' ? 'must not be empty' : 'is required' }))
  return failOn(missing) ?? fail('InternalServerError')
}

/** All that can be said about a rule without its database. */
export function validateRule(input: RuleInput): RuleProperties {
  const named = requireNames(input)
  const isNumber = named.maskingFunction === 'Number'
  const isText = named.maskingFunction === 'Text'
  const rule: RuleProperties = {
    ...named,
    aliasName: input.aliasName ?? null,
    numberFrom: isNumber ? (input.numberFrom ?? null) : null,
    numberTo: isNumber ? (input.numberTo ?? null) : null,
    prefixSize: isText ? (input.prefixSize ?? null) : null,
    suffixSize: isText ? (input.suffixSize ?? null) : null,
    replacementString: isText ? (input.replacementString ?? null) : null,
  }
  failOn([
    ...checkText('aliasName', rule.aliasName),
    ...checkText('replacementString', rule.replacementString),
    ...(isNumber ? checkBounds(rule) : []),
    ...checkSize('prefixSize', rule.prefixSize),
    ...checkSize('suffixSize', rule.suffixSize),
  ])
  return rule
}

export function failOn(faults: readonly Fault[]): undefined {
  if (faults.length === 0) return undefined
  const details = faults.map(
    ({ field, reason }): Detail => ({
      code: 'InvalidValue',
      message: `'properties.${field}' ${reason}.`,
      target: `properties.${field}`,
    }),
  )
  fail(
    'InvalidDataMaskingRule',
    { reason: details.map(({ message }) => message).join(' ') },
    { target: details[0]?.target ?? '', details },
  )
}

/** Longer texts, or ones that PostgreSQL would not give back as they came, are refused. */
function checkText(field: Fault['field'], text: string | null): Fault[] {
  if (text === null) return []
  if ([...text].length > longestText)
    return [{ field, reason: `must have at most ${longestText} characters` }]
  if (text.includes('\0') || !text.isWellFormed())
    return [{ field, reason: 'must be well-formed Unicode without the character U+0000' }]
  return []
}

function checkBounds({ numberFrom, numberTo }: RuleProperties): Fault[] {
  const faults = [...checkBound('numberFrom', numberFrom), ...checkBound('numberTo', numberTo)]
  const [from, to] = [parseDecimal(numberFrom ?? ''), parseDecimal(numberTo ?? '')]
  if (faults.length === 0 && from && to && compareDecimals(from, to) > 0)
    return [{ field: 'numberFrom', reason: "must not be greater than 'properties.numberTo'" }]
  return faults
}

function checkBound(field: 'numberFrom' | 'numberTo', text: string | null): Fault[] {
  if (text === null) return [{ field, reason: "is required when 'properties.maskingFunction' is Number" }]
  if (text.length <= longestText && parseDecimal(text)) return []
  return [
    {
      field,
      reason: `must be a decimal number of at most ${longestText} characters, such as "0" or "-12.50"`,
    },
  ]
}

function checkSize(field: 'prefixSize' | 'suffixSize', text: string | null): Fault[] {
  if (text === null || (/^\d{1,20}$/.test(text) && BigInt(text) <= largestSize)) return []
  return [{ field, reason: `must be a whole number from "0" to "${largestSize}"` }]
}
