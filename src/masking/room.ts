import type { Operation } from '../api/operation.ts'
import { withAliases } from './namespace.ts'
import type { MaskingPorts } from './operation.ts'
import { getPolicy } from './policy/get-policy.ts'
import { updatePolicy } from './policy/update-policy.ts'
import { createOrUpdateRule } from './rules/create-or-update-rule.ts'
import { deleteRule } from './rules/delete-rule.ts'
import { getRule } from './rules/get-rule.ts'
import { listRules } from './rules/list-rules.ts'

/** The masking API is this list. */
const operations: readonly Operation<MaskingPorts>[] = [
  createOrUpdateRule,
  listRules,
  getPolicy,
  updatePolicy,
  getRule,
  deleteRule,
]

export function maskingRoom(ports: MaskingPorts) {
  return { operations: operations.map((one) => withAliases(one, ports.providerAliases)), ports }
}
