import type { Operation } from '../api/operation.ts'
import { listAuditEvents } from './audit/list-audit-events.ts'
import { createOrUpdateDatabase } from './databases/create-or-update-database.ts'
import { deleteDatabase } from './databases/delete-database.ts'
import { getDatabase } from './databases/get-database.ts'
import { listDatabases } from './databases/list-databases.ts'
import { getEnforcement } from './enforcement/get-enforcement.ts'
import { listExposures } from './enforcement/list-exposures.ts'
import { listRecommendations } from './enforcement/list-recommendations.ts'
import { previewTable } from './enforcement/preview-table.ts'
import { resumeTable, suspendTable } from './enforcement/suspend-table.ts'
import { withAliases } from './namespace.ts'
import type { MaskingPorts } from './operation.ts'
import { getPolicy } from './policy/get-policy.ts'
import { updatePolicy } from './policy/update-policy.ts'
import { createRoleAssignment } from './role-assignments/create-role-assignment.ts'
import { deleteRoleAssignment } from './role-assignments/delete-role-assignment.ts'
import { getRoleAssignment } from './role-assignments/get-role-assignment.ts'
import { listRoleAssignments } from './role-assignments/list-role-assignments.ts'
import { createOrUpdateRoleMapping } from './role-mappings/create-or-update-role-mapping.ts'
import { deleteRoleMapping } from './role-mappings/delete-role-mapping.ts'
import { getRoleMapping } from './role-mappings/get-role-mapping.ts'
import { listRoleMappings } from './role-mappings/list-role-mappings.ts'
import { createOrUpdateRule } from './rules/create-or-update-rule.ts'
import { deleteRule } from './rules/delete-rule.ts'
import { getRule } from './rules/get-rule.ts'
import { listRules } from './rules/list-rules.ts'
import { createOrUpdateServer } from './servers/create-or-update-server.ts'
import { deleteServer } from './servers/delete-server.ts'
import { getServer } from './servers/get-server.ts'
import { listServers } from './servers/list-servers.ts'

/** The masking API is this list. */
const operations: readonly Operation<MaskingPorts>[] = [
  createOrUpdateRule,
  listRules,
  getPolicy,
  updatePolicy,
  getRule,
  deleteRule,
  createOrUpdateServer,
  getServer,
  listServers,
  deleteServer,
  createOrUpdateDatabase,
  getDatabase,
  listDatabases,
  deleteDatabase,
  createRoleAssignment,
  getRoleAssignment,
  listRoleAssignments,
  deleteRoleAssignment,
  createOrUpdateRoleMapping,
  getRoleMapping,
  listRoleMappings,
  deleteRoleMapping,
  listAuditEvents,
  getEnforcement,
  suspendTable,
  resumeTable,
  listExposures,
  listRecommendations,
  previewTable,
]

export function maskingRoom(ports: MaskingPorts) {
  return { operations: operations.map((one) => withAliases(one, ports.providerAliases)), ports }
}
