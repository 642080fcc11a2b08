import { application } from './application.ts'
import { device } from './device.ts'
import { directoryRole } from './directory-role.ts'
import { group } from './group.ts'
import { orgContact } from './org-contact.ts'
import { organization } from './organization.ts'
import type { ObjectKind, Resource } from './resource.ts'
import { servicePrincipal } from './service-principal.ts'
import { user } from './user.ts'

/** Every kind of directory object. */
export const resources: Readonly<Record<ObjectKind, Resource>> = {
  user,
  group,
  servicePrincipal,
  application,
  orgContact,
  device,
  directoryRole,
  organization,
}

export function isObjectKind(value: string): value is ObjectKind {
  return Object.hasOwn(resources, value)
}
