import type { Operation } from '../api/operation.ts'
import { listAuditEvents } from './audit/list-audit-events.ts'
import { createOrUpdateDatabase } from './databases/create-or-update-database.ts'
import { databaseKind } from './databases/database.ts'
import { deleteDatabase } from './databases/delete-database.ts'
import { getDatabase } from './databases/get-database.ts'
import { listVisibleDatabases } from './databases/list-visible-databases.ts'
import { restoreDatabase } from './databases/restore-database.ts'
import { getDocument } from './document/get-document.ts'
import { replaceDocument } from './document/replace-document.ts'
import { findImpact } from './enforcement/find-impact.ts'
import { getEnforcement } from './enforcement/get-enforcement.ts'
import { listExposures } from './enforcement/list-exposures.ts'
import { listRecommendations } from './enforcement/list-recommendations.ts'
import { previewTable } from './enforcement/preview-table.ts'
import { reportObserved } from './enforcement/report-observed.ts'
import { resumeTable, suspendTable } from './enforcement/suspend-table.ts'
import { describeProviders } from './management/describe-providers.ts'
import { listTenants } from './management/list-tenants.ts'
import { getProvider, listProviderOperations, listProviders } from './management/providers.ts'
import { getResourceGroup, listResourceGroups } from './management/resource-groups.ts'
import { getSubscription, listSubscriptions } from './management/subscriptions.ts'
import { withAliases } from './namespace.ts'
import type { MaskingPorts } from './operation.ts'
import { getPolicy } from './policy/get-policy.ts'
import { updatePolicy } from './policy/update-policy.ts'
import { deleteOf, getOf, listOf } from './resource.ts'
import { createRoleAssignment } from './role-assignments/create-role-assignment.ts'
import { listPermissions } from './role-assignments/list-permissions.ts'
import { roleAssignmentKind } from './role-assignments/role-assignment.ts'
import { getRoleDefinition, listRoleDefinitions } from './role-assignments/role-definitions.ts'
import { createOrUpdateRoleMapping } from './role-mappings/create-or-update-role-mapping.ts'
import { mappingKind } from './role-mappings/mapping.ts'
import { createOrUpdateRule } from './rules/create-or-update-rule.ts'
import { ruleKind } from './rules/rule.ts'
import { createOrUpdateServer } from './servers/create-or-update-server.ts'
import { serverKind } from './servers/server.ts'

/** The masking API is this list. */
const operations: readonly Operation<MaskingPorts>[] = [
  createOrUpdateRule,
  listOf(ruleKind),
  getPolicy,
  updatePolicy,
  getOf(ruleKind),
  deleteOf(ruleKind),
  createOrUpdateServer,
  getOf(serverKind),
  listOf(serverKind),
  deleteOf(serverKind),
  createOrUpdateDatabase,
  getDatabase,
  listOf(databaseKind),
  listVisibleDatabases,
  deleteDatabase,
  createRoleAssignment,
  getOf(roleAssignmentKind),
  listOf(roleAssignmentKind),
  deleteOf(roleAssignmentKind),
  listPermissions,
  createOrUpdateRoleMapping,
  getOf(mappingKind),
  listOf(mappingKind),
  deleteOf(mappingKind),
  listAuditEvents,
  getEnforcement,
  suspendTable,
  resumeTable,
  listExposures,
  listRecommendations,
  previewTable,
  getDocument,
  replaceDocument,
  findImpact,
  restoreDatabase,
  reportObserved,
  listSubscriptions,
  getSubscription,
  listResourceGroups,
  getResourceGroup,
  listTenants,
  listProviders,
  getProvider,
  listProviderOperations,
  listRoleDefinitions,
  getRoleDefinition,
]

export function maskingRoom(ports: Omit<MaskingPorts, 'providers'>) {
  return {
    operations: operations.map((one) => withAliases(one, ports.providerAliases)),
    ports: { ...ports, providers: describeProviders(operations) } satisfies MaskingPorts,
  }
}
