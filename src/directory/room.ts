import { tagged } from '../api/operation.ts'
import { appRoleOperations } from './app-roles/operations.ts'
import { credentialOperations } from './applications/operations.ts'
import { auditLogOperations } from './audit-logs/operations.ts'
import { runBatch } from './batch/run-batch.ts'
import { deltaOperations } from './delta/operations.ts'
import { extensionPropertyOperations } from './extensions/definitions/extension-properties.ts'
import { schemaExtensionOperations } from './extensions/definitions/schema-extensions.ts'
import { openExtensionOperations } from './extensions/open-extensions.ts'
import { itemsOperations } from './items/operations.ts'
import { membershipOperations } from './membership/operations.ts'
import { getMetadata } from './metadata/get-metadata.ts'
import { subscriptionOperations } from './notifications/subscription-operations.ts'
import { applicationOperations } from './objects/applications.ts'
import { deletedItemOperations } from './objects/deleted-items.ts'
import { directoryObjectOperations } from './objects/directory-objects.ts'
import { directoryRoleOperations } from './objects/directory-roles.ts'
import { domainOperations } from './objects/domains.ts'
import { groupOperations } from './objects/groups.ts'
import { deviceOperations, organizationOperations } from './objects/other-objects.ts'
import { userOperations } from './objects/users.ts'
import type { DirectoryPorts } from './operation.ts'
import { parameters } from './parameters.ts'
import { listCarriedRights } from './rights/list-carried-rights.ts'
import { roleAssignmentOperations } from './role-management/role-assignments.ts'
import { roleDefinitionOperations } from './role-management/role-definitions.ts'

const served = [
  ...tagged('Users', userOperations),
  ...tagged('Groups', groupOperations),
  ...tagged('Membership', membershipOperations),
  ...tagged('Applications', [...applicationOperations, ...credentialOperations]),
  ...tagged('Application roles', appRoleOperations),
  ...tagged('Directory roles', [
    ...directoryRoleOperations,
    ...roleDefinitionOperations,
    ...roleAssignmentOperations,
  ]),
  ...tagged('Carried rights', listCarriedRights),
  ...tagged('Devices and contacts', deviceOperations),
  ...tagged('Organization', [...organizationOperations, ...domainOperations]),
  ...tagged('Directory objects', [...directoryObjectOperations, ...deletedItemOperations]),
  ...tagged('Open extensions', openExtensionOperations),
  ...tagged('Extension definitions', [...extensionPropertyOperations, ...schemaExtensionOperations]),
  ...tagged('Mail, calendars and tasks', itemsOperations),
  ...tagged('Audit logs', auditLogOperations),
  ...tagged('Changes', [...deltaOperations, ...subscriptionOperations]),
  ...tagged('Service', [runBatch]),
]

const tags = {
  Users: 'People and their accounts.',
  Groups: 'Groups and their properties.',
  Membership: 'Members, owners, managers, and who is in which group at any depth.',
  Applications: 'Applications, their service principals, secrets and what was consented.',
  'Application roles': 'Which roles of applications were given to whom.',
  'Directory roles': 'Roles that administer the directory, and who holds them.',
  'Carried rights': 'What a principal or a group gives, and through which group.',
  'Devices and contacts': 'Devices and contacts of the organization.',
  Organization: 'The organization and its domains.',
  'Directory objects': 'Objects of any kind by their id, and those that were deleted.',
  'Open extensions': 'Data of applications on resources of the directory.',
  'Extension definitions': 'Typed properties that applications add to kinds of resources.',
  'Mail, calendars and tasks':
    'Mailboxes, calendars, contacts, tasks and conversations: containers of extensions.',
  'Audit logs': 'Who changed the directory, and who signed in.',
  Changes: 'What changed since: by asking, or by notification.',
  Service: 'Several requests in one, and the description of the types.',
}

/** Every operation of the directory API. */
export function directoryRoom(ports: DirectoryPorts) {
  return { operations: [...served, ...tagged('Service', [getMetadata(served)])], ports, tags, parameters }
}
