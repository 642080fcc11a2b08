import { fail } from '../../kernel/problem.ts'

/** One part of an `$expand`: `members($select=id;$top=5)`. */
export interface ExpandItem {
  readonly name: string
  /** Nested options by their names in lower case, without the dollar sign. */
  readonly options: ReadonlyMap<string, string>
}

const maxLength = 2048
const maxItems = 10

/** Reads an `$expand`; nothing in it is skipped. */
export function parseExpand(text: string): ExpandItem[] {
  if (text.length > maxLength) return refuse(`is longer than ${maxLength} characters`)
  const parts = splitOutside(text, ',')
  if (parts.length > maxItems) return refuse(`expands more than ${maxItems} relations`)
  const items = parts.map(parseItem)
  if (new Set(items.map(({ name }) => name)).size < items.length) return refuse('names a relation twice')
  return items
}

function parseItem(text: string): ExpandItem {
  const [, name = '', nested] = /^\s*([A-Za-z]+)\s*(?:\((.*)\))?\s*$/s.exec(text) ?? []
  if (name === '') return refuse('must be relations separated by commas')
  const options = new Map<string, string>()
  for (const part of nested === undefined ? [] : splitOutside(nested, ';')) {
    const [, option = '', value = ''] = /^\s*\$?([A-Za-z]+)\s*=(.*)$/s.exec(part) ?? []
    if (option === '' || options.has(option.toLowerCase()))
      return refuse(`has options of ${name} that cannot be read`)
    options.set(option.toLowerCase(), value.trim())
  }
  return { name, options }
}

/** The parts between separators that stand outside of parentheses and quotes. */
function splitOutside(text: string, separator: string): string[] {
  const parts = ['']
  let [depth, isQuoted] = [0, false]
  for (const character of text) {
    if (character === "'") isQuoted = !isQuoted
    if (!isQuoted && character === '(') depth++
    if (!isQuoted && character === ')') depth--
    if (!isQuoted && character === separator && depth === 0) parts.push('')
    else parts.push(`${parts.pop()}${character}`)
  }
  return parts
}

export function refuse(reason: string): never {
  return fail('InvalidQueryOption', { option: '$expand', reason })
}
