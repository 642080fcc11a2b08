import { type MaskField, maskFields, ruleFields } from '../masking/rules/rule-fields.ts'

type OptionName = (typeof ruleFields)[MaskField]['option']
const names = maskFields.map((field): OptionName => ruleFields[field].option)

/** The options by which a command line says how to mask. */
export const maskOptions = {
  column: { type: 'string' },
  function: { type: 'string' },
  ...(Object.fromEntries(names.map((name) => [name, { type: 'string' }])) as Record<
    OptionName,
    { type: 'string' }
  >),
} as const

/** The properties of a rule that they stand for; what was not given is left out. */
export function readMaskProperties(
  values: Readonly<Partial<Record<OptionName, string | undefined>>>,
): Partial<Record<MaskField, string>> {
  return Object.fromEntries(
    maskFields.flatMap((field) => {
      const value = values[ruleFields[field].option]
      return value === undefined ? [] : [[field, value]]
    }),
  )
}
