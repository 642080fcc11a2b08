import type { Query } from '../../db/query.ts'
import { maxPerApplication } from '../extensions/extension-store.ts'
import { extensibleObjects } from '../extensions/permissions.ts'
import { listOwnAppIds } from '../first-start/own-clients.ts'
import { type StageName, stages } from './stage.ts'

/** A fault in one line of a file. */
export interface Fault {
  readonly line: number
  readonly reason: string
}

/** Objects that share an id, or a name that must be unique, with another line or with another object that is there. */
export async function findObjectFaults(tx: Query, tenantId: string, limit: number): Promise<Fault[]> {
  return await tx<Fault[]>`
    with staged as (
      select line, id, kind, coalesce(defaults, '{}') || properties as properties, true as is_new from import_object
      union all
      select line, id, kind, merged, false from import_update
    ), key as (
      select line, id, is_new, 'id' as property, id::text as value from staged
      union all
      select line, id, is_new, 'userPrincipalName', lower((properties ->> 'userPrincipalName') collate "C") from staged
      where kind = 'user'
      union all
      select line, id, is_new, 'mailNickname', lower(properties ->> 'mailNickname') from staged
      where kind = 'group' and coalesce(properties -> 'groupTypes', '[]') ? 'Unified'
      union all
      select line, id, is_new, 'appId of ' || kind, properties ->> 'appId' from staged
      where kind in ('application', 'servicePrincipal')
      union all
      select line, id, is_new, 'deviceId', properties ->> 'deviceId' from staged where kind = 'device'
      union all
      select line, id, is_new, 'roleTemplateId', properties ->> 'roleTemplateId' from staged where kind = 'directoryRole'
    ), present as (
      select id, 'id' as property, id::text as value from directory_object where tenant_id = ${tenantId}
      union all
      select id, 'userPrincipalName', folded_principal_name from directory_object
      where tenant_id = ${tenantId} and kind = 'user' and deleted_at is null
      union all
      select id, 'mailNickname', lower(mail_nickname) from directory_object
      where tenant_id = ${tenantId} and unified and deleted_at is null
      union all
      select id, 'appId of ' || kind, app_id from directory_object
      where tenant_id = ${tenantId} and kind in ('application', 'servicePrincipal')
        and (kind = 'application' or deleted_at is null)
      union all
      select id, 'deviceId', properties ->> 'deviceId' from directory_object
      where tenant_id = ${tenantId} and kind = 'device' and deleted_at is null
      union all
      select id, 'roleTemplateId', properties ->> 'roleTemplateId' from directory_object
      where tenant_id = ${tenantId} and kind = 'directoryRole' and deleted_at is null
    ), first as (
      select *, min(line) over (partition by property, value) as first_line from key
    )
    select line, format('The %s is that of line %s.', property, first_line) as reason
    from first where line > first_line
    union all
    select line, format('The %s is in use in the directory already.', property)
    from first where exists (
      select from present where (property, value) = (first.property, first.value) and (first.is_new or id <> first.id))
    order by 1 limit ${limit}`
}

/** DIR-432: new service principals whose application is deleted. The applications are locked by then. */
export async function findDeletedApplications(tx: Query, tenantId: string, limit: number): Promise<Fault[]> {
  return await tx<Fault[]>`
    select line, 'Its application is deleted. Restore the application, or delete it for good.' as reason
    from import_object created join directory_object application on application.tenant_id = ${tenantId}
      and application.kind = 'application' and application.app_id = created.properties ->> 'appId'
    where created.kind = 'servicePrincipal' and application.deleted_at is not null
    order by 1 limit ${limit}`
}

/** Lines that would change the product's own clients: another one with their id, or other owners. */
export async function findOwnClientFaults(tx: Query, tenantId: string, limit: number): Promise<Fault[]> {
  const own = await listOwnAppIds(tx, tenantId)
  return await tx<Fault[]>`
    select line, 'The application belongs to the service itself.' as reason from (
      select line, lower((properties ->> 'appId') collate "C") as app_id from import_object
      union all
      select line, lower((stored ->> 'appId') collate "C") from import_update
      union all
      select edge.line, container.app_id from import_owner edge
      join directory_object container on container.tenant_id = ${tenantId} and container.id = edge.container_id
    ) touched where app_id = any(${own})
    order by 1 limit ${limit}`
}

export interface EdgeRules {
  readonly stage: Extract<StageName, 'member' | 'roleMember' | 'owner'>
  readonly containers: readonly string[]
  readonly members: readonly string[]
  /** The words for both ends in messages. */
  readonly words: readonly [container: string, member: string]
}

/** Edges whose ends do not exist or do not go together. */
export async function findEdgeFaults(
  tx: Query,
  tenantId: string,
  { stage, containers, members, words: [container, member] }: EdgeRules,
  limit: number,
): Promise<Fault[]> {
  return await tx<Fault[]>`
    select edge.line, case
        when container.id is null then format('There is no ${tx.unsafe(container)} %s.', edge.container_id)
        when member.id is null then format('There is no ${tx.unsafe(member)} %s.', edge.member_id)
        when edge.container_id = edge.member_id then 'An object cannot be in itself.'
        when container.kind = 'directoryRole' then 'A role goes to groups that can hold roles alone.'
        else 'A group that can hold roles cannot have groups in it.'
      end as reason
    from ${tx(stages[stage].table)} edge
    left join directory_object container on container.tenant_id = ${tenantId}
      and container.id = edge.container_id and container.deleted_at is null
      and container.kind = any(${[...containers]})
    left join directory_object member on member.tenant_id = ${tenantId}
      and member.id = edge.member_id and member.deleted_at is null and member.kind = any(${[...members]})
    where container.id is null or member.id is null or edge.container_id = edge.member_id
      or (${stage === 'member'} and member.kind = 'group'
        and container.properties -> 'isAssignableToRole' = 'true')
      or (${stage === 'roleMember'} and member.kind = 'group'
        and member.properties -> 'isAssignableToRole' is distinct from 'true')
    order by 1 limit ${limit}`
}

/** Edges that come twice, or that the directory has already. */
export async function findRepeatedEdges(
  tx: Query,
  tenantId: string,
  { stage, words }: EdgeRules,
  limit: number,
): Promise<Fault[]> {
  const present =
    stage === 'owner'
      ? tx`select object_id as container_id, owner_id as member_id from owner_edge where tenant_id = ${tenantId}`
      : tx`select container_id, member_id from member_edge where tenant_id = ${tenantId}`
  return await tx<Fault[]>`
    with edge as (
      select *, min(line) over (partition by container_id, member_id) as first_line
      from ${tx(stages[stage].table)}
    )
    select line, format('It says the same as line %s.', first_line) as reason
    from edge where line > first_line
    union all
    select line, ${`It is in the directory already: this ${words[0]} has this ${words[1]}.`}
    from edge where (container_id, member_id) in (${present})
    order by 1 limit ${limit}`
}

export async function findExtensionFaults(tx: Query, tenantId: string, limit: number): Promise<Fault[]> {
  return await tx<Fault[]>`
    with present as (
      select 0 as line, object_id, name, application_id from open_extension
      where tenant_id = ${tenantId} and object_id in (select object_id from import_extension)
      union all
      select line, object_id, name, application_id from import_extension
    ), counted as (
      select *,
        row_number() over (partition by object_id, lower(name) order by line) as same_name,
        row_number() over (partition by object_id, application_id order by line) as same_application
      from present
    )
    select line, case
        when object.id is null then format('There is no user, group or device %s.', counted.object_id)
        when same_name > 1 then 'The object has an extension of this name already.'
        else 'The object has ${tx.unsafe(String(maxPerApplication))} extensions of this application already.'
      end as reason
    from counted
    left join directory_object object on object.tenant_id = ${tenantId} and object.id = counted.object_id
      and object.deleted_at is null and object.kind = any(${[...extensibleObjects]})
    where line > 0 and (object.id is null or same_name > 1 or same_application > ${maxPerApplication})
    order by 1 limit ${limit}`
}
