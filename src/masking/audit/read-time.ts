import { fail } from '../../kernel/problem.ts'

/** A time of a query option in UTC; null where it is left out. Refuses what is not a time since 1970. */
export function readTime(option: string, text: string | undefined): string | null {
  if (text === undefined) return null
  const isTime = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d{1,9})?)?(Z|[+-]\d\d:\d\d))?$/.test(text)
  const time = isTime ? Date.parse(text) : Number.NaN
  if (Number.isNaN(time) || time < 0)
    fail('InvalidQueryOption', { option, reason: 'must be a time such as 2026-01-31T12:00:00Z' })
  return new Date(time).toISOString()
}
