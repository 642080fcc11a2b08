import { lockAdministrators, shareAdministrators } from '../../auth/administrators-lock.ts'
import type { Query } from '../../db/query.ts'
import { fail } from '../../kernel/problem.ts'
import type { EntityWrite, WriteContext } from '../entities/entity-write.ts'
import { createSqlGraph } from '../membership/sql-graph.ts'
import { findAdministratorRole, hasEnabledPrincipal, type Loss } from '../rights/remaining-administrators.ts'

/** DIR-160: no write leaves the directory without an enabled Global Administrator, nor `/` without an Owner. */
export async function keepAdministrators(
  { tx, caller, ports }: WriteContext,
  write: EntityWrite,
): Promise<void> {
  const { tenantId } = caller
  const loss = await findLoss(tx, tenantId, write)
  if (!loss) return
  const roles = await findAdministratorRole(tx, tenantId)
  const judge = async () => ({
    concernsRole: await isWithin(tx, tenantId, loss, roles),
    concernsOwners: await isWithin(tx, tenantId, loss, await ports.readRootOwners(tx, tenantId)),
  })
  let { concernsRole, concernsOwners } = await judge()
  if (!concernsRole && !concernsOwners) {
    // Other losses share the lock of rights, behind which groups and applications become administrators.
    if (write.kind !== 'user') return
    await shareAdministrators(tx)
    ;({ concernsRole, concernsOwners } = await judge())
    if (!concernsRole && !concernsOwners) return
  }
  await lockAdministrators(tx)
  if (concernsRole && !(await hasEnabledPrincipal(tx, tenantId, roles, ['user'], loss)))
    fail('LastAdministrator', { what: 'Global Administrator' })
  const owners = await ports.readRootOwners(tx, tenantId)
  const ownerKinds = ['user', 'servicePrincipal'] as const
  if (concernsOwners && !(await hasEnabledPrincipal(tx, tenantId, owners, ownerKinds, loss)))
    fail('LastAdministrator', { what: "Owner of masking at '/'" })
}

async function findLoss(tx: Query, tenantId: string, write: EntityWrite): Promise<Loss | undefined> {
  const { verb, kind, id, before, changes } = write
  if (id === undefined) return undefined
  const isGone = verb === 'delete' || (verb === 'update' && changes.accountEnabled === false)
  if (isGone && kind === 'application')
    return { ids: await findPrincipals(tx, tenantId, String(before.appId)) }
  if (isGone && ['user', 'group', 'servicePrincipal'].includes(kind)) return { ids: [id] }
  const [memberId] = verb === 'remove' && Array.isArray(changes.members) ? changes.members : []
  if (memberId === undefined) return undefined
  return { ids: [], membership: { containerId: id, memberId: String(memberId) } }
}

/** An application takes its service principals with it when it is deleted. */
async function findPrincipals(tx: Query, tenantId: string, appId: string): Promise<string[]> {
  const rows = await tx<{ id: string }[]>`
    select id from directory_object
    where tenant_id = ${tenantId} and kind = 'servicePrincipal' and app_id = ${appId} and deleted_at is null`
  return rows.map(({ id }) => id)
}

/** True when the loss is of a principal or group that is one of the roots or within one. */
async function isWithin(
  tx: Query,
  tenantId: string,
  { ids, membership }: Loss,
  roots: readonly string[],
): Promise<boolean> {
  const graph = createSqlGraph(tx)
  for (const id of membership ? [membership.containerId] : ids) {
    if (roots.includes(id)) return true
    if ((await graph.groupsAmong(tenantId, id, roots, { includeRoles: true })).length > 0) return true
  }
  return false
}
