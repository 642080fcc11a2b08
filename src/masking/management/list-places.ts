import { findMaskingRole, roleAllows } from '../../auth/masking-roles.ts'
import { isWithin } from '../../auth/role-assignments.ts'
import { checkName, fold, scopeOf } from '../place.ts'
import type { Site } from '../resource.ts'
import { isKeyWithin } from '../within-scopes.ts'

/** A resource group that something is in; the group is null for a role that is assigned at the subscription itself. */
interface Place {
  readonly subscriptionId: string
  readonly resourceGroupName: string | null
  readonly location: string | null
}

/**
 * The places of servers, databases and role assignments, as far as the caller sees them: those at, above or below which
 * the caller holds a role. The path narrows them down to a subscription or resource group.
 */
export async function listPlaces(site: Site): Promise<Place[]> {
  const { tx, tenantId, caller, params, ports } = site
  for (const parameter of Object.keys(params)) checkName(params, parameter)
  const scope = fold(scopeOf(params))
  const stem = scope === '/' ? scope : `${scope}/`
  const roles = (await ports.rolesOf(tx, caller)).filter(isReader)
  if (roles.length === 0) return []
  const readable = roles.map((role) => role.scope)
  const rows = await tx<(Place & { scope: string })[]>`
    select array_to_string((string_to_array(key, '/'))[1:5], '/') as scope,
      min(subscription_id collate "C") as "subscriptionId",
      nullif(min(resource_group collate "C"), '') as "resourceGroupName",
      min(location collate "C") filter (where ${isKeyWithin(tx, readable)}) as location
    from (
      select key, subscription_id, resource_group, location from server where tenant_id = ${tenantId}
      union all
      select key, subscription_id, resource_group, location from masked_database where tenant_id = ${tenantId}
      union all
      select scope collate "C", split_part(shown_scope, '/', 3), split_part(shown_scope, '/', 5), null from role_assignment
      where tenant_id = ${tenantId} and scope <> '/'
    ) held
    where starts_with(key || '/', ${stem})
    group by 1 order by 1`
  const isSeen = (place: string) =>
    roles.some((role) => isWithin(place, role.scope) || isWithin(role.scope, place))
  return rows.filter((place) => isSeen(place.scope))
}

function isReader({ role }: { readonly role: string }): boolean {
  const known = findMaskingRole(role)
  return known !== undefined && roleAllows(known, 'Vendor.Sql/servers/read')
}
