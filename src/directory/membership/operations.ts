import type { Operation } from '../../api/operation.ts'
import type { DirectoryPorts } from '../operation.ts'
import { addMember } from './add-member.ts'
import { checkMemberGroups, checkMemberObjects } from './check-member-groups.ts'
import { explainMembership } from './explain-membership.ts'
import { getMemberGroups, getMemberObjects } from './get-member-groups.ts'
import { updateGroup } from './update-group.ts'

export const membershipOperations: readonly Operation<DirectoryPorts>[] = [
  ...getMemberGroups,
  ...getMemberObjects,
  ...checkMemberGroups,
  ...checkMemberObjects,
  explainMembership,
  addMember,
  updateGroup,
]
