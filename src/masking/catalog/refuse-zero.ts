import { fail } from '../../kernel/problem.ts'

/** No name of PostgreSQL has the character of the code 0. */
export function refuseZero(names: Readonly<Record<string, string>>): void {
  for (const [parameter, name] of Object.entries(names))
    if (name.includes('\0'))
      fail('InvalidResourceName', { parameter, reason: 'it must not have the character of the code 0' })
}

export function refuseZeroInSearch(search: string): void {
  if (search.includes('\0'))
    fail('InvalidQueryOption', { option: 'search', reason: 'must not have the character of the code 0' })
}
