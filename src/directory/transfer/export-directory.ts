import type { Tx } from '../../db/database.ts'
import type { Query } from '../../db/query.ts'
import type { JsonObject } from '../entities/property.ts'
import { findOwnObjects } from './own-objects.ts'
import { notTransferred } from './read-line.ts'

const pageSize = 5000
/** Sorts before every id. */
const none = '00000000-0000-0000-0000-000000000000'

/**
 * The directory as JSON lines, without deleted objects, in an order that does not depend on its history. Left out are
 * the objects that every installation creates: the organization, the product's applications, the first administrator.
 */
export async function* exportDirectory(tx: Tx, tenantId: string): AsyncGenerator<string> {
  await tx`set transaction isolation level repeatable read, read only`
  await tx`select set_config('statement_timeout', '0', true),
    set_config('idle_in_transaction_session_timeout', '0', true)`
  const own = await findOwnObjects(tx, tenantId)
  const from = { tx, tenantId, own }
  yield* exportKind(from, 'application')
  yield* exportDefinitions(from)
  for (const kind of ['servicePrincipal', 'user', 'orgContact', 'device', 'group'])
    yield* exportKind(from, kind)
  yield* exportRoles(from)
  yield* exportEdges(from, 'member')
  yield* exportEdges(from, 'roleMember')
  yield* exportEdges(from, 'owner')
  yield* exportExtensions(from)
}

interface Source {
  readonly tx: Query
  readonly tenantId: string
  /** Ids of the objects that every installation creates. */
  readonly own: readonly string[]
}

const line = (type: string, fields: object) => `${JSON.stringify({ type, ...fields })}\n`

async function* exportKind({ tx, tenantId, own }: Source, kind: string): AsyncGenerator<string> {
  for (let after = none; ; ) {
    const rows = await tx<{ id: string; created: string; properties: JsonObject }[]>`
      select id, properties - ${notTransferred}::text[] as properties,
        to_char(created_at, 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as created
      from directory_object
      where tenant_id = ${tenantId} and kind = ${kind} and deleted_at is null and id > ${after}
        and id <> all(${own}::uuid[])
      order by id limit ${pageSize}`
    for (const { id, created, properties } of rows)
      yield line(kind, { id, createdDateTime: created, ...properties })
    after = rows.at(-1)?.id ?? after
    if (rows.length < pageSize) return
  }
}

async function* exportRoles({ tx, tenantId }: Source): AsyncGenerator<string> {
  const rows = await tx<{ template: string }[]>`
    select properties ->> 'roleTemplateId' as template from directory_object
    where tenant_id = ${tenantId} and kind = 'directoryRole' and deleted_at is null order by 1`
  for (const { template } of rows) yield line('directoryRole', { roleTemplateId: template })
}

interface EdgeRow {
  readonly container_id: string
  readonly member_id: string
  readonly template: string | null
}

async function* exportEdges(source: Source, type: 'member' | 'roleMember' | 'owner'): AsyncGenerator<string> {
  for (let last: Pick<EdgeRow, 'container_id' | 'member_id'> = { container_id: none, member_id: none }; ; ) {
    const rows = await readEdges(source, type, last)
    for (const { container_id, member_id, template } of rows) {
      if (type === 'member') yield line(type, { group: container_id, member: member_id })
      else if (type === 'owner') yield line(type, { object: container_id, owner: member_id })
      else yield line(type, { roleTemplateId: template, member: member_id })
    }
    last = rows.at(-1) ?? last
    if (rows.length < pageSize || type === 'roleMember') return
  }
}

function readEdges(
  { tx, tenantId, own }: Source,
  type: 'member' | 'roleMember' | 'owner',
  last: Pick<EdgeRow, 'container_id' | 'member_id'>,
) {
  const edge =
    type === 'owner'
      ? tx`(select tenant_id, object_id as container_id, owner_id as member_id from owner_edge)`
      : tx`member_edge`
  const isRole = type === 'roleMember'
  const order = isRole ? tx`container.properties ->> 'roleTemplateId'` : tx`edge.container_id`
  // Roles are few and their ids differ between directories: they come in the order of their templates, in one page.
  const position = isRole
    ? tx`true`
    : tx`(edge.container_id, edge.member_id) > (${last.container_id}::uuid, ${last.member_id}::uuid)`
  return tx<EdgeRow[]>`
    select edge.container_id, edge.member_id, container.properties ->> 'roleTemplateId' as template
    from ${edge} edge
    join directory_object container on container.tenant_id = edge.tenant_id
      and container.id = edge.container_id and container.deleted_at is null
      and ${type === 'owner' ? tx`true` : isRole ? tx`container.kind = 'directoryRole'` : tx`container.kind = 'group'`}
    join directory_object member on member.tenant_id = edge.tenant_id
      and member.id = edge.member_id and member.deleted_at is null
    where edge.tenant_id = ${tenantId} and ${position}
      and edge.container_id <> all(${own}::uuid[]) and edge.member_id <> all(${own}::uuid[])
    order by ${order}, edge.member_id ${isRole ? tx`` : tx`limit ${pageSize}`}`
}

async function* exportDefinitions({ tx, tenantId }: Source): AsyncGenerator<string> {
  const properties = await tx`
    select definition.id, definition.application_id as application, name, data_type as "dataType",
      target_objects as "targetObjects", is_multi_valued as "isMultiValued"
    from extension_property definition
    join directory_object o on o.tenant_id = definition.tenant_id and o.id = definition.application_id
      and o.deleted_at is null
    where definition.tenant_id = ${tenantId} order by definition.id`
  for (const row of properties) yield line('extensionProperty', row)
  const schemas = await tx`
    select id, description, owner, status, target_types as "targetTypes", properties
    from schema_extension where tenant_id = ${tenantId} order by id`
  for (const row of schemas) yield line('schemaExtension', row)
}

async function* exportExtensions({ tx, tenantId, own }: Source): AsyncGenerator<string> {
  for (let last = { object: none, name: '' }; ; ) {
    const rows = await tx<{ object: string; name: string; application: string; data: JsonObject }[]>`
      select object_id as object, name, application_id as application, extension.properties as data
      from open_extension extension
      join directory_object o on o.tenant_id = extension.tenant_id and o.id = extension.object_id
        and o.deleted_at is null
      where extension.tenant_id = ${tenantId} and object_id <> all(${own}::uuid[])
        and (object_id, lower(name)) > (${last.object}::uuid, lower(${last.name}::text))
      order by object_id, lower(name) limit ${pageSize}`
    for (const { object, name, application, data } of rows)
      yield line('extension', { object, extensionName: name, applicationId: application, data })
    last = rows.at(-1) ?? last
    if (rows.length < pageSize) return
  }
}
