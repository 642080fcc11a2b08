import type { Tx } from '../../db/database.ts'
import type { Fault } from './find-faults.ts'

/**
 * Stages memberships by names as memberships by ids: groups by displayName, users by userPrincipalName, either by id.
 * Returns the lines that name none, or several.
 */
export async function resolveNamedMembers(tx: Tx, tenantId: string, limit: number): Promise<Fault[]> {
  const [any] = await tx`select from import_named_member limit 1`
  if (!any) return []
  await tx`
    create temporary table import_named on commit drop as
    with known as (
      select id, kind, display_name as name, folded_principal_name as upn from directory_object
      where tenant_id = ${tenantId} and deleted_at is null and kind in ('user', 'group')
      union
      select id, kind, properties ->> 'displayName', lower((properties ->> 'userPrincipalName') collate "C") collate "default"
      from import_object
      where kind in ('user', 'group')
    ), key as (
      select id, kind, id::text as key from known
      union select id, kind, case kind when 'user' then upn else name end from known
    )
    select named.line, group_name, member_name,
      coalesce(array_agg(distinct container.id) filter (where container.id is not null), '{}') as groups,
      coalesce(array_agg(distinct member.id) filter (where member.id is not null), '{}') as members
    from import_named_member named
    left join key container on container.kind = 'group' and container.key = group_name
    left join key member
      on member.key = case when member_name like '%@%' then lower(member_name collate "C") collate "default" else member_name end
    group by 1, 2, 3`
  await tx`
    insert into import_member (line, container_id, member_id)
    select line, groups[1], members[1] from import_named
    where cardinality(groups) = 1 and cardinality(members) = 1`
  return await tx<Fault[]>`
    select line, case
        when cardinality(groups) = 0 then format('There is no group %s.', group_name)
        when cardinality(groups) > 1 then format('Several groups are called %s. Give the id of one.', group_name)
        when cardinality(members) = 0 then format('There is no user or group %s.', member_name)
        else format('Several are called %s. Give the id of one.', member_name)
      end as reason
    from import_named where cardinality(groups) <> 1 or cardinality(members) <> 1 order by 1 limit ${limit}`
}
