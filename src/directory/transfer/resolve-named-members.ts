import type { Tx } from '../../db/database.ts'
import { uuidPattern } from '../../kernel/uuid.ts'
import type { Fault } from './find-faults.ts'

const uuid = `^${uuidPattern}$`

/**
 * Stages memberships by names as memberships by ids. The form of a name decides what it names (DIR-343): a person who may
 * create groups could name one like a deleted user, or like the id of a deleted object, that old files still have. Returns the
 * lines that name none, or several.
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
      select id, kind, 'id' as form, id::text as key from known
      union select id, kind, kind, case kind when 'user' then upn else name end from known
    ), named as (
      select line, group_name, member_name,
        case when group_name collate "C" ~* ${uuid} then 'id' else 'group' end as group_form,
        case when member_name collate "C" ~* ${uuid} then 'id' when member_name like '%@%' then 'user' else 'group' end as member_form
      from import_named_member
    )
    select line, group_name, group_form, member_name, member_form,
      coalesce(array_agg(distinct container.id) filter (where container.id is not null), '{}') as groups,
      coalesce(array_agg(distinct member.id) filter (where member.id is not null), '{}') as members
    from named
    left join key container on container.kind = 'group' and container.form = group_form
      and container.key = case group_form when 'id' then lower(group_name) else group_name end
    left join key member on member.form = member_form
      and member.key = case member_form when 'group' then member_name else lower(member_name collate "C") collate "default" end
    group by 1, 2, 3, 4, 5`
  await tx`
    insert into import_member (line, container_id, member_id)
    select line, groups[1], members[1] from import_named
    where cardinality(groups) = 1 and cardinality(members) = 1`
  return await tx<Fault[]>`
    select line, case
        when cardinality(groups) = 0 and group_form = 'id' then format('There is no group with the id %s.', group_name)
        when cardinality(groups) = 0 then format('There is no group %s.', group_name)
        when cardinality(groups) > 1 then format('Several groups are called %s. Give the id of one.', group_name)
        when cardinality(members) = 0 and member_form = 'id' then format('There is no user or group with the id %s.', member_name)
        when cardinality(members) = 0 then format('There is no %s %s.', member_form, member_name)
        else format('Several are called %s. Give the id of one.', member_name)
      end as reason
    from import_named where cardinality(groups) <> 1 or cardinality(members) <> 1 order by 1 limit ${limit}`
}
