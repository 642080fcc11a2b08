import type { Context } from '../../api/operation.ts'
import { asUtcText, selectTimeAfter } from '../../db/audit.ts'
import type { Query } from '../../db/query.ts'
import type { MaskingPorts } from '../operation.ts'
import { keyRange } from '../page.ts'
import { fold, scopeOf } from '../place.ts'

/** The action that every reader of the audit needs. */
export const readAudit = 'Vendor.Sql/auditEvents/read'

/**
 * Hides what happened to an earlier server or database of the same name from callers whose role is of the present one
 * alone: their role was given for another resource.
 */
export async function notBefore(
  from: string | null,
  {
    params,
    caller,
    tx,
    ports,
  }: Pick<Context<MaskingPorts, unknown, unknown>, 'params' | 'caller' | 'tx' | 'ports'>,
): Promise<string | null> {
  const { serverName, databaseName, ...above } = params
  if (serverName === undefined || (await ports.mayAct(tx, caller, readAudit, scopeOf(above)))) return from
  const server = scopeOf({ ...above, serverName })
  const isOfServer = databaseName === undefined || (await ports.mayAct(tx, caller, readAudit, server))
  const start = isOfServer
    ? await findServerStart(tx, caller.tenantId, fold(server))
    : await findDatabaseStart(tx, caller.tenantId, fold(scopeOf(params)))
  return start !== null && (from === null || from.replace('Z', '000Z') < start) ? start : from
}

/** While the name is free, all entries are of earlier databases, late ones of gateway sessions among them. */
async function findDatabaseStart(tx: Query, tenantId: string, key: string): Promise<string> {
  const [made] = await tx<{ at: string }[]>`
    select ${asUtcText(tx, tx`created_at`)} as at from masked_database where tenant_id = ${tenantId} and key = ${key}`
  return made?.at ?? 'infinity'
}

/** A server that is not declared can have databases: it starts after the last deletion under its name, if there was one. */
async function findServerStart(tx: Query, tenantId: string, key: string): Promise<string | null> {
  const [made] = await tx<{ at: string }[]>`
    select ${asUtcText(tx, tx`created_at`)} as at from server where tenant_id = ${tenantId} and key = ${key}`
  const deletion = { is: key, ...keyRange(key), action: 'Vendor.Sql/servers/delete' }
  return made?.at ?? (await selectTimeAfter(tx, tenantId, deletion))
}
