import type { Operation } from '../../api/operation.ts'
import type { DirectoryPorts } from '../operation.ts'
import { applicationOperations, servicePrincipalOperations } from './applications.ts'
import { createObject } from './create-object.ts'
import { deleteObject } from './delete-object.ts'
import { deletedItemOperations } from './deleted-items.ts'
import { directoryObjectOperations } from './directory-objects.ts'
import { directoryRoleOperations } from './directory-roles.ts'
import { getObject } from './get-object.ts'
import { groupOperations } from './groups.ts'
import { device } from './kinds/device.ts'
import { orgContact } from './kinds/org-contact.ts'
import { organization } from './kinds/organization.ts'
import { countObjects, listObjects } from './list-objects.ts'
import { updateObjectOf } from './update-object.ts'
import { userOperations } from './users.ts'

export const objectsOperations: readonly Operation<DirectoryPorts>[] = [
  ...userOperations,
  ...groupOperations,
  ...applicationOperations,
  ...servicePrincipalOperations,
  ...[orgContact, device].flatMap((resource) => [
    listObjects(resource),
    countObjects(resource),
    getObject(resource),
    createObject(resource),
    updateObjectOf(resource),
    deleteObject(resource),
  ]),
  ...directoryRoleOperations,
  listObjects(organization),
  getObject(organization),
  updateObjectOf(organization),
  ...directoryObjectOperations,
  ...deletedItemOperations,
]
