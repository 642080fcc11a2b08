import type { Sql } from '../../db/sql.ts'
import type { Controller } from '../../masks/control/controller.ts'
import type { Policy } from '../../masks/policy.ts'
import { exemptions, readRoles } from '../../masks/read/roles.ts'
import { readGatewayVersion, readMaskedFor } from './read-masked.ts'
import type { ObservedColumn } from './read-sources.ts'

interface ObservedSource {
  /** The columns that a policy in observe mode would mask; null where the policy is enforced or off. */
  readObserved(databaseId: string): Promise<readonly ObservedColumn[] | null>
}

/** The masks of databases as the gateway asks for them. */
export function createMaskReader(
  controller: Pick<Controller, 'connect' | 'readPolicy'>,
  { readObserved }: ObservedSource,
) {
  async function connect(databaseId: string): Promise<Sql> {
    const target = await controller.connect(databaseId)
    if (!target) throw new Error('the database is not bound any more')
    return target.sql
  }
  return {
    readMasks: async (databaseId: string, roles: readonly string[]) =>
      readMaskedFor(await connect(databaseId), roles, await readObserved(databaseId)),

    async readVersion(databaseId: string): Promise<string> {
      const observed = await readObserved(databaseId)
      return observed ? JSON.stringify(observed) : readGatewayVersion(await connect(databaseId))
    },

    /** Those of the roles that would see masks if the policy were enforced; none where it is, or is off. */
    async findWouldMask(databaseId: string, roles: readonly string[]): Promise<readonly string[]> {
      if ((await readObserved(databaseId)) === null) return []
      return findMaskedRoles(await connect(databaseId), await controller.readPolicy(databaseId), roles)
    },
  }
}

/** Those of the roles that would see masks under the policy: neither exempt nor superusers. */
async function findMaskedRoles(
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
