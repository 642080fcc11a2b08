import type { Query } from '../../db/query.ts'
import { translateConstraints } from '../../db/sqlstate.ts'
import { fail } from '../../kernel/problem.ts'
import type { Found } from '../addresses/find-resource.ts'
import type { JsonObject } from '../entities/property.ts'
import { nameOf } from './extension-name.ts'

export interface Extension {
  readonly name: string
  readonly applicationId: string
  readonly data: JsonObject
}

translateConstraints({
  open_extension_name_on_object: 'ExtensionExistsAlready',
  open_extension_name_on_item: 'ExtensionExistsAlready',
})

export const maxPerApplication = 2
const maxOnItem = 100

/** The condition for the extensions of one resource. */
function onResource(tx: Query, { object, item }: Found) {
  return item ? tx`item_id = ${item.id}` : tx`object_id = ${object.id}`
}

function columns(tx: Query) {
  return tx`name, application_id as "applicationId", properties as data`
}

/** Finds an extension by its name or fully qualified name. */
export async function findExtension(
  tx: Query,
  tenantId: string,
  found: Found,
  extensionId: string,
  { lock = false } = {},
): Promise<Extension> {
  const name = nameOf(extensionId)
  if (name.includes('\0')) fail('ExtensionNotFound')
  const [extension] = await tx<Extension[]>`
    select ${columns(tx)} from open_extension
    where tenant_id = ${tenantId} and ${onResource(tx, found)} and lower(name) = lower(${name})
    ${lock ? tx`for update` : tx``}`
  return extension ?? fail('ExtensionNotFound')
}

export async function listExtensions(tx: Query, tenantId: string, found: Found): Promise<Extension[]> {
  return tx<Extension[]>`
    select ${columns(tx)} from open_extension
    where tenant_id = ${tenantId} and ${onResource(tx, found)} order by created_at, name`
}

/** Lock the resource first: two requests that count at once would both stay below the limit. */
export async function insertExtension(
  tx: Query,
  tenantId: string,
  found: Found,
  extension: Extension,
): Promise<void> {
  await checkCount(tx, tenantId, found, extension.applicationId)
  await tx`
    insert into open_extension (tenant_id, object_id, item_id, name, application_id, properties)
    values (${tenantId}, ${found.item ? null : found.object.id}, ${found.item?.id ?? null}, ${extension.name},
      ${extension.applicationId}, ${tx.json(extension.data)})`
}

async function checkCount(tx: Query, tenantId: string, found: Found, applicationId: string): Promise<void> {
  const [count] = await tx<{ all: number; own: number }[]>`
    select count(*) as all, count(*) filter (where application_id = ${applicationId}) as own
    from open_extension where tenant_id = ${tenantId} and ${onResource(tx, found)}`
  if (!found.item && (count?.own ?? 0) >= maxPerApplication)
    fail('ExtensionLimitExceeded', { limit: `${maxPerApplication} open extensions of one application` })
  if (found.item && (count?.all ?? 0) >= maxOnItem)
    fail('ExtensionLimitExceeded', { limit: `${maxOnItem} open extensions` })
}

export async function replaceData(
  tx: Query,
  tenantId: string,
  found: Found,
  name: string,
  data: JsonObject,
): Promise<void> {
  await tx`
    update open_extension set properties = ${tx.json(data)}
    where tenant_id = ${tenantId} and ${onResource(tx, found)} and name = ${name}`
}

export async function deleteExtension(
  tx: Query,
  tenantId: string,
  found: Found,
  name: string,
): Promise<void> {
  await tx`
    delete from open_extension
    where tenant_id = ${tenantId} and ${onResource(tx, found)} and name = ${name}`
}
