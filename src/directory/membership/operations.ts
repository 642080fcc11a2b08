import type { Operation } from '../../api/operation.ts'
import type { DirectoryPorts } from '../operation.ts'
import { getMemberGroups, getMemberObjects } from './get-member-groups.ts'

export const membershipOperations: readonly Operation<DirectoryPorts>[] = [
  ...getMemberGroups,
  ...getMemberObjects,
]
