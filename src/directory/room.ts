import { appRoleOperations } from './app-roles/operations.ts'
import { credentialOperations } from './applications/operations.ts'
import { auditLogOperations } from './audit-logs/operations.ts'
import { runBatch } from './batch/run-batch.ts'
import { deltaOperations } from './delta/operations.ts'
import { extensionsOperations } from './extensions/operations.ts'
import { itemsOperations } from './items/operations.ts'
import { membershipOperations } from './membership/operations.ts'
import { getMetadata } from './metadata/get-metadata.ts'
import { subscriptionOperations } from './notifications/subscription-operations.ts'
import { domainOperations } from './objects/domains.ts'
import { objectsOperations } from './objects/operations.ts'
import type { DirectoryPorts } from './operation.ts'
import { listCarriedRights } from './rights/list-carried-rights.ts'
import { roleAssignmentOperations } from './role-management/role-assignments.ts'
import { roleDefinitionOperations } from './role-management/role-definitions.ts'

const served = [
  ...objectsOperations,
  ...credentialOperations,
  ...appRoleOperations,
  ...membershipOperations,
  ...extensionsOperations,
  ...itemsOperations,
  ...listCarriedRights,
  ...domainOperations,
  ...roleDefinitionOperations,
  ...roleAssignmentOperations,
  ...auditLogOperations,
  runBatch,
  ...deltaOperations,
  ...subscriptionOperations,
]

/** Every operation of the directory API. */
export function directoryRoom(ports: DirectoryPorts) {
  return { operations: [...served, getMetadata(served)], ports }
}
