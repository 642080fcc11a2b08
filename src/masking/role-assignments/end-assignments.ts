import { normalizeScope } from '../../auth/role-assignments.ts'
import type { DatabasePlace, ServerPlace } from '../place.ts'
import { canonicalNamespace, idOf } from '../place.ts'
import { type Audit, auditChange, type Site } from '../resource.ts'
import { lockAssignments } from './confirm-role.ts'
import { renderRoleAssignment, selectAssignments, withTypes } from './role-assignment.ts'

/**
 * Ends the role assignments at a deleted resource and below it: a role was given for that resource, and must not count for
 * a later one of the same name. The scope `/` is above every resource, so the last Owner there is never among them.
 */
export async function endAssignments(
  site: Site,
  audit: Audit,
  place: ServerPlace | DatabasePlace,
): Promise<void> {
  const { tx, tenantId } = site
  const scope = normalizeScope(idOf(place, canonicalNamespace))
  const isHere = tx`(scope = ${scope} or starts_with(scope, ${`${scope}/`}))`
  await lockAssignments(tx)
  const ended = await withTypes(site, await selectAssignments(tx, tenantId, isHere))
  if (ended.length === 0) return
  await tx`delete from role_assignment where tenant_id = ${tenantId} and ${isHere}`
  const action = 'Vendor.Authorization/roleAssignments/delete'
  for (const one of ended) auditChange(audit, action, renderRoleAssignment, one, undefined)
}
