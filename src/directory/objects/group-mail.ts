import type { Query } from '../../db/query.ts'
import type { JsonObject } from '../entities/property.ts'

/** The mail address of a group follows from its alias and the tenant's domain: what changes of it with `changes`. */
export async function recalculateMail(
  tx: Query,
  tenantId: string,
  before: JsonObject,
  changes: JsonObject,
): Promise<JsonObject> {
  if (changes.mailEnabled === undefined && changes.mailNickname === undefined) return {}
  const { mailEnabled, mailNickname } = { ...before, ...changes }
  if (mailEnabled !== true) return before.mail === undefined ? {} : { mail: null, proxyAddresses: null }
  const domain = await findDomain(tx, tenantId)
  if (domain === undefined) return {}
  const mail = `${String(mailNickname)}@${domain}`
  return mail === before.mail ? {} : { mail, proxyAddresses: [`SMTP:${mail}`] }
}

async function findDomain(tx: Query, tenantId: string): Promise<string | undefined> {
  const [row] = await tx<{ name: string }[]>`
    select domain ->> 'name' as name
    from directory_object, jsonb_array_elements(properties -> 'verifiedDomains') as domain
    where tenant_id = ${tenantId} and id = ${tenantId} and domain -> 'isDefault' = 'true' limit 1`
  return row?.name
}
