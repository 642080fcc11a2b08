import type { Query } from '../../db/query.ts'
import { fail } from '../../kernel/problem.ts'
import type { Json, JsonObject } from '../entities/property.ts'
import { isJsonObject } from '../entities/storable.ts'
import type { DirectoryObject } from '../objects/object-store.ts'
import { findHeldRoles } from './find-assigned.ts'

/** Stands for access without a role, for resources that define none. */
export const noRoleId = '00000000-0000-0000-0000-000000000000'

const memberTypes = { user: 'User', group: 'User', servicePrincipal: 'Application' } as const
export type Assignable = keyof typeof memberTypes

/** True when principals of the kind can hold the role of the resource. */
export function canHold({ properties }: DirectoryObject, roleId: string, kind: Assignable): boolean {
  const roles = rolesIn(properties.appRoles)
  if (roleId === noRoleId) return roles.length === 0
  const role = roles.find(({ id }) => id === roleId)
  const types = role?.allowedMemberTypes
  return (
    role !== undefined &&
    role.isEnabled !== false &&
    Array.isArray(types) &&
    types.includes(memberTypes[kind])
  )
}

function rolesIn(value: Json | undefined): readonly JsonObject[] {
  return Array.isArray(value) ? value.filter(isJsonObject) : []
}

/** Refuses roles without an id or member types, and two with one id or value: a token could not tell them apart. */
export function checkAppRoles(changes: JsonObject): void {
  const roles = rolesIn(changes.appRoles)
  const refuse = () =>
    fail('InvalidPropertyValue', { property: 'appRoles', resource: 'Application' }, { target: 'appRoles' })
  for (const { id, value, allowedMemberTypes: types } of roles) {
    if (typeof id !== 'string' || id === noRoleId || !Array.isArray(types) || types.length === 0) refuse()
    if (!(types as readonly Json[]).every((type) => type === 'User' || type === 'Application')) refuse()
    if (typeof value === 'string' && !/^[\x21-\x7e]{1,120}$/.test(value)) refuse()
  }
  for (const name of ['id', 'value']) {
    const all = roles.flatMap((role) => (typeof role[name] === 'string' ? [role[name]] : []))
    if (new Set(all).size < all.length) refuse()
  }
}

/** What the assignments of an application give to a user, directly and through groups. */
export interface HeldAppRoles {
  /** False where the application admits only users that are assigned, with a role or without one, and the user is not. */
  readonly isAdmitted: boolean
  /** Values of the roles, for the claim `roles`. */
  readonly values: readonly string[]
}

export async function readHeldAppRoles(
  sql: Query,
  tenantId: string,
  userId: string,
  servicePrincipalId: string,
): Promise<HeldAppRoles> {
  const [resource] = await sql<{ properties: JsonObject }[]>`
    select properties from directory_object where tenant_id = ${tenantId} and id = ${servicePrincipalId}`
  const roles = rolesIn(resource?.properties.appRoles)
  const isRequired = resource?.properties.appRoleAssignmentRequired === true
  if (!isRequired && roles.length === 0) return { isAdmitted: true, values: [] }
  const [held] = await findHeldRoles(sql, tenantId, [{ userId, clientId: servicePrincipalId }])
  const ids = new Set(held)
  const values = roles
    .filter(({ id, isEnabled }) => isEnabled !== false && ids.has(String(id)))
    .flatMap(({ value }) => (typeof value === 'string' ? [value] : []))
  return { isAdmitted: !isRequired || ids.size > 0, values }
}
