import type { Sql } from '../../db/sql.ts'
import { exemptions } from '../grants/roles.ts'
import { readRoles } from '../observe.ts'
import type { Policy } from '../policy.ts'

/** Those of the roles that would see masks under the policy: neither exempt nor superusers. */
export async function findMaskedRoles(
  sql: Sql,
  { exemptRoles }: Pick<Policy, 'exemptRoles'>,
  names: readonly string[],
): Promise<string[]> {
  const [server] = await sql<{ version: number }[]>`
    select current_setting('server_version_num')::int as version`
  const roles = await readRoles(sql, server?.version ?? 0)
  const exempt = exemptions(roles, exemptRoles)
  return names.filter((name) => !exempt.includes(name) && !roles.get(name)?.superuser)
}
