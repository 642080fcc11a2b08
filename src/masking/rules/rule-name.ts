import type { Params } from '../../auth/permission.ts'
import { fail } from '../../kernel/problem.ts'

const parameter = 'dataMaskingRuleName'

export function readRuleName(params: Params): string {
  const name = params[parameter] ?? ''
  const length = [...name].length
  if (length < 1 || length > 128)
    fail(
      'InvalidResourceName',
      { parameter, reason: 'it must have 1 to 128 characters' },
      { target: parameter },
    )
  if (/[\p{Cc}\p{Cs}]/u.test(name))
    fail(
      'InvalidResourceName',
      { parameter, reason: 'control characters are not allowed' },
      { target: parameter },
    )
  return name
}
