import { emptyMask, type Mask, type MaskingFunction, type Rule } from '../../api/document.ts'
import { t } from '../../texts/index.ts'

/** A mask in few words, as the column list and the drawer show it. */
export function describeMask(mask: Mask | null | undefined): string {
  if (!mask) return t.data.unmasked
  const name = t.data.functions[mask.maskingFunction]
  if (mask.maskingFunction === 'Number') return `${name} ${mask.numberFrom ?? '…'}–${mask.numberTo ?? '…'}`
  if (mask.maskingFunction !== 'Text') return name
  const [prefix, suffix] = [Number(mask.prefixSize ?? 0), Number(mask.suffixSize ?? 0)]
  return `${name} ${'a'.repeat(Math.min(prefix, 4))}${mask.replacementString ?? 'XXXX'}${'z'.repeat(Math.min(suffix, 4))}`
}

const example = 'Amsterdam'

/** A sample of a masked value: the view of roles that are not exempt. */
export function showMask(mask: Mask): string {
  const { maskingFunction, numberFrom, numberTo, prefixSize, suffixSize, replacementString } = mask
  if (maskingFunction === 'Number') return `${numberFrom ?? '…'} – ${numberTo ?? '…'}`
  if (maskingFunction === 'Default') return t.data.byType
  if (maskingFunction !== 'Text') return t.data.samples[maskingFunction]
  const [first, last] = [Number(prefixSize ?? 0), Number(suffixSize ?? 0)]
  return `${example.slice(0, first)}${replacementString ?? 'XXXX'}${last > 0 ? example.slice(-last) : ''}`
}

/** A fresh mask of a function, with bounds that can be applied as they are. */
export function startMask(maskingFunction: MaskingFunction): Mask {
  const bounds = maskingFunction === 'Number' ? { numberFrom: '0', numberTo: '100' } : {}
  const sizes =
    maskingFunction === 'Text' ? { prefixSize: '1', suffixSize: '0', replacementString: 'XXXX' } : {}
  return { ...emptyMask, maskingFunction, ...bounds, ...sizes }
}

type MaskFaults = Partial<Record<Exclude<keyof Mask, 'maskingFunction'>, string>>

/** The options that the service would refuse, each with its remedy. */
export function findFaults({
  maskingFunction,
  numberFrom,
  numberTo,
  prefixSize,
  suffixSize,
}: Mask): MaskFaults {
  const isSize = (text: string | null) => text === null || (/^\d{1,10}$/.test(text) && Number(text) < 2 ** 31)
  const isBound = (text: string | null) => /^[+-]?\d+(\.\d+)?$/.test(text ?? '')
  if (maskingFunction === 'Text')
    return {
      ...(!isSize(prefixSize) && { prefixSize: t.data.sizeFault }),
      ...(!isSize(suffixSize) && { suffixSize: t.data.sizeFault }),
    }
  if (maskingFunction !== 'Number') return {}
  if (isBound(numberFrom) && isBound(numberTo))
    return Number(numberFrom) > Number(numberTo) ? { numberFrom: t.data.orderFault } : {}
  return {
    ...(!isBound(numberFrom) && { numberFrom: t.data.boundFault }),
    ...(!isBound(numberTo) && { numberTo: t.data.boundFault }),
  }
}

export function isValidMask(mask: Mask): boolean {
  return Object.keys(findFaults(mask)).length === 0
}

export type ColumnName = Pick<Rule, 'schemaName' | 'tableName' | 'columnName'>

export function labelColumn({ schemaName, tableName, columnName }: ColumnName): string {
  return `${schemaName}.${tableName}.${columnName}`
}

export function isSameColumn(a: ColumnName, b: ColumnName): boolean {
  return a.schemaName === b.schemaName && a.tableName === b.tableName && a.columnName === b.columnName
}

/** A name for a new rule that no other rule has. */
export function nameRule({ tableName, columnName }: ColumnName, rules: readonly Rule[]): string {
  const taken = new Set(rules.map(({ name }) => name.toLowerCase()))
  const base = `${tableName}-${columnName}`.slice(0, 120)
  for (let number = 1; ; number++) {
    const name = number === 1 ? base : `${base}-${number}`
    if (!taken.has(name.toLowerCase())) return name
  }
}

export function withMask(rules: readonly Rule[], column: ColumnName, mask: Mask): readonly Rule[] {
  const known = rules.find((rule) => isSameColumn(rule, column))
  const { schemaName, tableName, columnName } = column
  const next = {
    name: known?.name ?? nameRule(column, rules),
    schemaName,
    tableName,
    columnName,
    ...onlyMask(mask),
  }
  return known ? rules.map((rule) => (rule === known ? next : rule)) : [...rules, next]
}

export function withoutMask(rules: readonly Rule[], column: ColumnName): readonly Rule[] {
  return rules.filter((rule) => !isSameColumn(rule, column))
}

/** The parts of a mask alone, without what the object that it came from had beside them. */
export function onlyMask(mask: Mask): Mask {
  const { maskingFunction, numberFrom, numberTo, prefixSize, suffixSize, replacementString } = mask
  return { maskingFunction, numberFrom, numberTo, prefixSize, suffixSize, replacementString }
}

export function isSameMask(a: Mask | null, b: Mask | null): boolean {
  return JSON.stringify(a && onlyMask(a)) === JSON.stringify(b && onlyMask(b))
}
