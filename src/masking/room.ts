import { type Operation, tagged } from '../api/operation.ts'
import { listAuditEvents } from './audit/list-audit-events.ts'
import { summarizeActivity } from './audit/summarize-activity.ts'
import { summarizeDatabaseActivity } from './audit/summarize-database-activity.ts'
import { findColumns } from './catalog/find-columns.ts'
import { listColumns } from './catalog/list-columns.ts'
import { listTableRoles } from './catalog/list-table-roles.ts'
import { listTables } from './catalog/list-tables.ts'
import { createCredential } from './credentials/create-credential.ts'
import { deleteCredential } from './credentials/delete-credential.ts'
import { listCredentials } from './credentials/list-credentials.ts'
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
import { listContainment } from './enforcement/list-containment.ts'
import { listExposures } from './enforcement/list-exposures.ts'
import { listRecommendations } from './enforcement/list-recommendations.ts'
import { previewTable } from './enforcement/preview-table.ts'
import { reportObserved } from './enforcement/report-observed.ts'
import { resumeTable, suspendTable } from './enforcement/suspend-table.ts'
import { describeProviders } from './management/describe-providers.ts'
import { describeService } from './management/describe-service.ts'
import { listLocations } from './management/list-locations.ts'
import { listResources } from './management/list-resources.ts'
import { listTenants } from './management/list-tenants.ts'
import { getProvider, listProviderOperations, listProviders } from './management/providers.ts'
import { getResourceGroup, listResourceGroups } from './management/resource-groups.ts'
import { getSubscription, listSubscriptions } from './management/subscriptions.ts'
import { withAliases } from './namespace.ts'
import type { MaskingPorts } from './operation.ts'
import { getPolicy } from './policy/get-policy.ts'
import { updatePolicy } from './policy/update-policy.ts'
import { listQueryableDatabases } from './query/list-queryable-databases.ts'
import { runQuery } from './query/run-query.ts'
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

/** The masking API is these lists. */
const operations: readonly Operation<MaskingPorts>[] = [
  ...tagged('Rules', [createOrUpdateRule, listOf(ruleKind), getOf(ruleKind), deleteOf(ruleKind)]),
  ...tagged('Policy', [getPolicy, updatePolicy, getDocument, replaceDocument, findImpact]),
  ...tagged('Enforcement', [
    getEnforcement,
    suspendTable,
    resumeTable,
    listExposures,
    listContainment,
    listRecommendations,
    previewTable,
    restoreDatabase,
    reportObserved,
  ]),
  ...tagged('Servers', [createOrUpdateServer, getOf(serverKind), listOf(serverKind), deleteOf(serverKind)]),
  ...tagged('Databases', [
    createOrUpdateDatabase,
    getDatabase,
    listOf(databaseKind),
    listVisibleDatabases,
    listQueryableDatabases,
    listTables,
    listColumns,
    listTableRoles,
    findColumns,
    runQuery,
    deleteDatabase,
  ]),
  ...tagged('Role assignments', [
    createRoleAssignment,
    getOf(roleAssignmentKind),
    listOf(roleAssignmentKind),
    deleteOf(roleAssignmentKind),
    listPermissions,
  ]),
  ...tagged('Role mappings', [
    createOrUpdateRoleMapping,
    getOf(mappingKind),
    listOf(mappingKind),
    deleteOf(mappingKind),
  ]),
  ...tagged('Database credentials', [listCredentials, createCredential, deleteCredential]),
  ...tagged('Masking audit', [listAuditEvents, summarizeActivity, summarizeDatabaseActivity]),
  ...tagged('Management', [
    listSubscriptions,
    getSubscription,
    listResourceGroups,
    getResourceGroup,
    listResources,
    listLocations,
    listTenants,
    describeService,
    listProviders,
    getProvider,
    listProviderOperations,
    listRoleDefinitions,
    getRoleDefinition,
  ]),
]

const tags = {
  Rules: 'Which columns are masked, and how.',
  Policy: 'Whether masking is on, whom it exempts, and all of it as one document.',
  Enforcement: 'Whether the masks are in place, what they would change, and which ways around them are open.',
  Servers: 'The servers that databases are declared under.',
  Databases: 'Databases and their binding to a PostgreSQL.',
  'Role assignments': 'Who may do what at which scope of the masking API.',
  'Role mappings': 'Which principals log in to a database, and as which role.',
  'Database credentials': 'Passwords for tools that log in at the gateway and keep one.',
  'Masking audit': 'Who changed what.',
  Management: 'What management tools ask first: subscriptions, resource groups, providers and roles.',
}

const parameters = {
  subscriptionId: { description: 'The subscription.', example: '00000000-1111-2222-3333-444444444444' },
  resourceGroupName: { description: 'The resource group.', example: 'ferries' },
  serverName: { description: 'The server.', example: 'harbour' },
  schemaName: { description: 'A schema of the bound database.', example: 'public' },
  tableName: { description: 'A table of the schema.', example: 'passengers' },
  databaseName: { description: 'The database.', example: 'tickets' },
  dataMaskingRuleName: { description: 'The rule.', example: 'passenger-email' },
  roleAssignmentName: {
    description: 'The role assignment: a UUID that the caller makes.',
    example: '7c2d1f0a-3b54-4f0e-9d16-52a8f3c1b7e4',
  },
  roleDefinitionId: {
    description: 'The role.',
    example: 'acdd72a7-3385-48ef-bd42-f606fba81ae7',
  },
  resourceProviderNamespace: { description: 'The provider.', example: 'Vendor.Sql' },
  credentialName: { description: 'The credential, by its name or id.', example: 'nightly-report' },
  roleMappingName: { description: 'The role mapping.', example: 'analysts' },
}

export function maskingRoom(ports: Omit<MaskingPorts, 'providers'>) {
  return {
    operations: operations.map((one) => withAliases(one, ports.providerAliases)),
    ports: { ...ports, providers: describeProviders(operations) } satisfies MaskingPorts,
    tags,
    parameters,
  }
}
