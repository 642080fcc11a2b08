export const maskingFunctions = ['CCN', 'Default', 'Email', 'Number', 'SSN', 'Text'] as const
export type MaskingFunction = (typeof maskingFunctions)[number]

interface RuleField {
  readonly kind: 'function' | 'text' | 'bound' | 'size'
  readonly required?: true
  /** The one masking function that has it; under others it is stored as null. */
  readonly only?: MaskingFunction
  /** How the command line calls it. */
  readonly option?: string
}

/** The properties of a rule. Schema, row, rendering, validation, rule files and command line follow this table. */
export const ruleFields = {
  schemaName: { kind: 'text', required: true },
  tableName: { kind: 'text', required: true },
  columnName: { kind: 'text', required: true },
  maskingFunction: { kind: 'function', required: true },
  aliasName: { kind: 'text' },
  numberFrom: { kind: 'bound', only: 'Number', option: 'from' },
  numberTo: { kind: 'bound', only: 'Number', option: 'to' },
  prefixSize: { kind: 'size', only: 'Text', option: 'prefix' },
  suffixSize: { kind: 'size', only: 'Text', option: 'suffix' },
  replacementString: { kind: 'text', only: 'Text', option: 'replacement' },
} as const satisfies Readonly<Record<string, RuleField>>

type Fields = typeof ruleFields
export type RuleFieldName = keyof Fields
type Having<Part> = { [F in RuleFieldName]: Fields[F] extends Part ? F : never }[RuleFieldName]
export type ColumnField = Having<{ kind: 'text'; required: true }>
export type RequiredField = Having<{ required: true }>
export type OptionalField = Exclude<RuleFieldName, RequiredField>
export type MaskField = Having<{ only: MaskingFunction }>

export const allFields = Object.keys(ruleFields) as RuleFieldName[]
const select = <F extends RuleFieldName>(test: (field: RuleField) => boolean) =>
  allFields.filter((name) => test(ruleFields[name])) as F[]

/** The column that a rule masks. */
export const columnFields = select<ColumnField>(({ kind, required }) => kind === 'text' && required === true)
export const requiredFields = select<RequiredField>(({ required }) => required === true)
export const optionalFields = select<OptionalField>(({ required }) => required !== true)
/** How the values are masked, beside the masking function. */
export const maskFields = select<MaskField>(({ only }) => only !== undefined)

/** The properties of a rule as they are stored: what does not apply to its function is null. */
export type RuleProperties = Readonly<
  Record<ColumnField, string> & { maskingFunction: MaskingFunction } & Record<OptionalField, string | null>
>

export function pick<F extends RuleFieldName, T extends Partial<Record<F, unknown>>>(
  properties: T,
  fields: readonly F[],
): Pick<T, F> {
  return Object.fromEntries(fields.map((field) => [field, properties[field]])) as Pick<T, F>
}
