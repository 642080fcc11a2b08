import type { Query } from '../../db/query.ts'

/** Template ids of the directory roles that a user holds: directly, or by way of groups that may hold roles. */
export async function listDirectoryRoles(sql: Query, tenantId: string, userId: string): Promise<string[]> {
  const rows = await sql<{ template: string }[]>`
    with recursive holder (id) as (
      select ${userId}::uuid
      union
      select edge.container_id
      from holder
      join member_edge edge on edge.tenant_id = ${tenantId} and edge.member_id = holder.id
      join directory_object container on container.tenant_id = edge.tenant_id and container.id = edge.container_id
      where container.kind = 'group' and container.deleted_at is null
        and container.properties -> 'isAssignableToRole' = 'true'
    )
    select distinct role.properties ->> 'roleTemplateId' as template
    from holder
    join member_edge edge on edge.tenant_id = ${tenantId} and edge.member_id = holder.id
    join directory_object role on role.tenant_id = edge.tenant_id and role.id = edge.container_id
    where role.kind = 'directoryRole' and role.deleted_at is null and role.properties ? 'roleTemplateId'
    order by template`
  return rows.map(({ template }) => template)
}
