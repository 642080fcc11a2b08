import { splitWords } from './split-options.ts'

const parameter = 'default_transaction_read_only'

/** True when a client asks for a session of read-only transactions, by the parameter itself or in `options`. */
export function asksReadOnly(parameters: ReadonlyMap<string, string>): boolean {
  for (const [name, value] of parameters) if (name.toLowerCase() === parameter) return isTrue(value)
  const given = splitOptions(parameters.get('options') ?? '')
    .map((option) => /^([^=]+)=(.*)$/s.exec(option))
    .findLast((match) => match?.[1]?.replaceAll('-', '_').toLowerCase() === parameter)
  return isTrue(given?.[2] ?? '')
}

/** The settings of `-c name=value`, `-cname=value` and `--name=value`. */
function splitOptions(text: string): string[] {
  const words = splitWords(text)
  return words.flatMap((word, at) => {
    if (word.startsWith('--')) return [word.slice(2)]
    if (word === '-c') return words.slice(at + 1, at + 2)
    return word.startsWith('-c') ? [word.slice(2)] : []
  })
}

/** As PostgreSQL reads it: a beginning of the word is enough. */
function isTrue(text: string): boolean {
  const value = text.trim().toLowerCase()
  return (
    value === 'on' ||
    value === '1' ||
    (value !== '' && ['true', 'yes'].some((word) => word.startsWith(value)))
  )
}
