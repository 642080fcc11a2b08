import type { Params } from '../auth/permission.ts'
import { fail } from '../kernel/problem.ts'

/** Names of rules and mappings, which are parts of no scope: almost anything goes. */
export function readFreeName(params: Params, parameter: string): string {
  const name = params[parameter] ?? ''
  const length = [...name].length
  const reason =
    length < 1 || length > 128
      ? 'it must have 1 to 128 characters'
      : /[\p{Cc}\p{Cs}]/u.test(name)
        ? 'control characters are not allowed'
        : undefined
  if (reason) fail('InvalidResourceName', { parameter, reason }, { target: parameter })
  return name
}
