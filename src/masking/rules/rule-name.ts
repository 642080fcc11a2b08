import type { Params } from '../../auth/permission.ts'
import { readFreeName } from '../free-name.ts'

export function readRuleName(params: Params): string {
  return readFreeName(params, 'dataMaskingRuleName')
}
