import { randomUUID } from 'node:crypto'
import type { MaskingRole } from '../../auth/masking-roles.ts'
import type { Assignment } from '../../auth/role-assignments.ts'
import type { Query } from '../../db/query.ts'

/** The roles that any of the principals holds, with their scopes. */
export async function listAssignedRoles(
  sql: Query,
  tenantId: string,
  principalIds: readonly string[],
): Promise<Assignment[]> {
  return await sql<Assignment[]>`
    select distinct role, scope from role_assignment
    where tenant_id = ${tenantId} and principal_id = any(${[...principalIds]}::uuid[])`
}

/** Assigns a role at `/`, the scope above all others; false for a principal that holds it already. */
export async function assignAtRoot(
  tx: Query,
  tenantId: string,
  role: MaskingRole,
  principalId: string,
): Promise<boolean> {
  const assigned = await tx`
    insert into role_assignment (id, tenant_id, scope, shown_scope, role, principal_id)
    values (${randomUUID()}, ${tenantId}, '/', '/', ${role}, ${principalId})
    on conflict do nothing`
  return assigned.count > 0
}
