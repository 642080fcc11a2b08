import type { Operation } from '../../api/operation.ts'
import type { DirectoryPorts } from '../operation.ts'
import { addMember } from './add-member.ts'
import { checkMemberGroups, checkMemberObjects } from './check-member-groups.ts'
import { explainMembership } from './explain-membership.ts'
import { getMemberGroups, getMemberObjects } from './get-member-groups.ts'
import { getRelated } from './get-related.ts'
import { countRelation, listRelation } from './list-relation.ts'
import { managerOperations } from './manager.ts'
import { relations } from './relations.ts'
import { updateGroup } from './update-group.ts'
import { addToRelation, removeFromRelation } from './write-relation.ts'

export const membershipOperations: readonly Operation<DirectoryPorts>[] = [
  ...getMemberGroups,
  ...getMemberObjects,
  ...checkMemberGroups,
  ...checkMemberObjects,
  explainMembership,
  addMember,
  updateGroup,
  ...managerOperations,
  ...relations.flatMap((relation) =>
    relation.single
      ? getRelated(relation)
      : [listRelation(relation), countRelation(relation), getRelated(relation)],
  ),
  ...relations.flatMap((relation) => (relation.add ? [addToRelation(relation, relation.add)] : [])),
  ...relations.flatMap((relation) =>
    relation.remove ? [removeFromRelation(relation, relation.remove)] : [],
  ),
]
