import type { Operation } from '../../api/operation.ts'
import { operationsOn } from '../entities/entity-operations.ts'
import type { DirectoryPorts } from '../operation.ts'
import { applicationOperations } from './applications.ts'
import { deletedItemOperations } from './deleted-items.ts'
import { directoryObjectOperations } from './directory-objects.ts'
import { directoryRoleOperations } from './directory-roles.ts'
import { groupOperations } from './groups.ts'
import { device } from './kinds/device.ts'
import { orgContact } from './kinds/org-contact.ts'
import { organization } from './kinds/organization.ts'
import { objectSet } from './object-set.ts'
import { userOperations } from './users.ts'

export const objectsOperations: readonly Operation<DirectoryPorts>[] = [
  ...userOperations,
  ...groupOperations,
  ...applicationOperations,
  ...[orgContact, device].flatMap((kind) =>
    operationsOn(objectSet(kind), ['list', 'count', 'get', 'create', 'update', 'delete']),
  ),
  ...directoryRoleOperations,
  ...operationsOn(objectSet(organization), ['list', 'get', 'update']),
  ...directoryObjectOperations,
  ...deletedItemOperations,
]
