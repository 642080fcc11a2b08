import type { Sql } from '../../db/sql.ts'
import { exemptions } from '../grants/roles.ts'
import { readRoles } from '../observe.ts'
import type { Policy } from '../policy.ts'

/** True when the role would see raw values under the policy: it is exempt, or a superuser. */
export async function isExempt(
  sql: Sql,
  { exemptRoles }: Pick<Policy, 'exemptRoles'>,
  role: string,
): Promise<boolean> {
  const [server] = await sql<{ version: number }[]>`
    select current_setting('server_version_num')::int as version`
  const roles = await readRoles(sql, server?.version ?? 0)
  return exemptions(roles, exemptRoles).includes(role) || (roles.get(role)?.superuser ?? false)
}
