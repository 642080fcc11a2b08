import type { Operation } from '../../api/operation.ts'
import type { DirectoryPorts } from '../operation.ts'
import { device } from '../resources/device.ts'
import { group } from '../resources/group.ts'
import { orgContact } from '../resources/org-contact.ts'
import type { Resource } from '../resources/resource.ts'
import { createObject } from './create-object.ts'
import { deleteObject } from './delete-object.ts'
import { getObject } from './get-object.ts'
import { countObjects, listObjects } from './list-objects.ts'
import { updateObjectOf } from './update-object.ts'

const readOperations = (resource: Resource) => [
  listObjects(resource),
  countObjects(resource),
  getObject(resource),
]

export const objectsOperations: readonly Operation<DirectoryPorts>[] = [
  ...readOperations(group),
  createObject(group),
  deleteObject(group),
  ...[orgContact, device].flatMap((resource) => [
    ...readOperations(resource),
    createObject(resource),
    updateObjectOf(resource),
    deleteObject(resource),
  ]),
]
