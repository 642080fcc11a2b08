import { operationsOn } from '../entities/entity-operations.ts'
import { device } from './kinds/device.ts'
import { orgContact } from './kinds/org-contact.ts'
import { organization } from './kinds/organization.ts'
import { objectSet } from './object-set.ts'

export const deviceOperations = [orgContact, device].flatMap((kind) =>
  operationsOn(objectSet(kind), ['list', 'count', 'get', 'create', 'update', 'delete']),
)

export const organizationOperations = operationsOn(objectSet(organization), ['list', 'get', 'update'])
