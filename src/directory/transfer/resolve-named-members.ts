import type { Tx } from '../../db/database.ts'
import { isUuid, uuidPattern } from '../../kernel/uuid.ts'
import type { GivenRight } from '../rights/carried-rights.ts'
import type { Fault } from './find-faults.ts'

const uuid = `^${uuidPattern}$`

/**
 * Stages memberships by names as memberships by ids. The form of a name decides what it names (DIR-343): a person who may
 * create groups could name one like a deleted user, or like the id of a deleted object, that old files still have. Returns the
 * lines that name none, or several, or that would give rights to a group by its name.
 */
export async function resolveNamedMembers(
  tx: Tx,
  tenantId: string,
  limit: number,
  listGiven: () => Promise<readonly GivenRight<string>[]>,
): Promise<Fault[]> {
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
  const unresolved = await tx<Fault[]>`
    select line, case
        when cardinality(groups) = 0 and group_form = 'id' then format('There is no group with the id %s.', group_name)
        when cardinality(groups) = 0 then format('There is no group %s.', group_name)
        when cardinality(groups) > 1 then format('Several groups are called %s. Give the id of one.', group_name)
        when cardinality(members) = 0 and member_form = 'id' then format('There is no user or group with the id %s.', member_name)
        when cardinality(members) = 0 then format('There is no %s %s.', member_form, member_name)
        else format('Several are called %s. Give the id of one.', member_name)
      end as reason
    from import_named where cardinality(groups) <> 1 or cardinality(members) <> 1 order by 1 limit ${limit}`
  return [...unresolved, ...(await findGivenByName(tx, tenantId, limit, await listGiven()))].slice(0, limit)
}

/**
 * DIR-351: lines by which a group named by its displayName would become a member of a group that carries rights, by what is
 * stored and by the file. Whoever may create groups could give one the name of a group that is deleted or yet to come.
 */
async function findGivenByName(
  tx: Tx,
  tenantId: string,
  limit: number,
  given: readonly GivenRight<string>[],
): Promise<Fault[]> {
  const bearers = [...new Set(given.map((right) => right.given).filter(isUuid))]
  return await tx<Fault[]>`
    with recursive nested as materialized (
      select line, group_name, member_name, groups[1] as group_id from import_named
      where member_form = 'group' and cardinality(groups) = 1 and cardinality(members) = 1
        and not exists (
          select from member_edge
          where tenant_id = ${tenantId} and container_id = import_named.groups[1] and member_id = import_named.members[1])
    ), inner_group as materialized (
      select id from directory_object
      where tenant_id = ${tenantId} and kind = 'group' and exists (select from nested)
      union select id from import_object where kind = 'group'
    ), staged as materialized (
      select container_id, member_id from import_member join inner_group on id = member_id
      union select container_id, member_id from import_role_member join inner_group on id = member_id
    ), walk (root, id) as (
      select group_id, group_id from nested
      union
      select walk.root, up.container_id from walk
      cross join lateral (
        (select container_id from member_edge where tenant_id = ${tenantId} and member_id = walk.id offset 0)
        union all select container_id from staged where member_id = walk.id
      ) up
    ), carrying as (
      select distinct root from walk
      where id = any(${bearers}::uuid[])
        or exists (select from directory_object role where role.tenant_id = ${tenantId} and role.id = walk.id and kind = 'directoryRole')
        or exists (select from import_object role where role.id = walk.id and kind = 'directoryRole')
    )
    select line, format('Members of %s have rights, and any person can give a group the name %s. Give the id of the member.',
      group_name, member_name) as reason
    from nested join carrying on root = group_id order by 1 limit ${limit}`
}
