import type { Sql } from '../../db/sql.ts'
import { exemptions } from '../grants/roles.ts'
import { everybody } from '../names.ts'
import { readRoles } from '../observe.ts'
import { findGuard } from './find-guard.ts'
import { readRecord } from './read-record.ts'

/**
 * True when exactly the roles of the policy are exempt in the database, or nothing is masked there. Asked of the
 * database itself: another node may have enforced a policy that this node does not know of.
 */
export async function isExemptAsMeant(sql: Sql, exemptRoles: readonly string[]): Promise<boolean> {
  const record = await readRecord(sql, await findGuard(sql))
  if (!record) return true
  const [server] = await sql<{ version: number }[]>`
    select current_setting('server_version_num')::int as version`
  const meant = exemptions(await readRoles(sql, server?.version ?? 0), exemptRoles)
  return (
    JSON.stringify(record.exempt) === JSON.stringify(meant.everybody ? [everybody] : [...meant.roles].sort())
  )
}
