import type { Tx } from '../../db/database.ts'
import { isUuid } from '../../kernel/uuid.ts'
import { listRoleStarts, visibleBytes } from '../principals/login-role.ts'
import type { GivenRight } from '../rights/carried-rights.ts'

/** Principals that an import gave rights to, and the object that has the rights. */
interface ImportedRights {
  /** A group, role or principal that the rights name. */
  readonly bearer: string
  /** The role or the rights that masking gives, in words. */
  readonly rights: readonly string[]
  readonly as: 'member' | 'owner' | 'object'
  /** The first of them; the count tells how many there are. */
  readonly ids: readonly string[]
  readonly count: number
}

const mostIds = 100

interface Row {
  readonly bearer: string
  readonly role: string | null
  readonly as: ImportedRights['as']
  readonly ids: string[]
  readonly count: number
}

/**
 * The rights that the staged lines of an import gave: members and owners of groups that carry rights, at any depth,
 * members of directory roles, new objects whose id, name or login role already has rights, and all of these for objects that the
 * import enabled. New names are ASCII (DIR-168): their characters are bytes. Those of enabled objects may be older (DIR-423).
 */
export async function findImportedRights(
  tx: Tx,
  tenantId: string,
  given: readonly GivenRight<string>[],
): Promise<ImportedRights[]> {
  const names = [...new Set(given.map((right) => right.given))]
  const roles = names.flatMap((role) => listRoleStarts(role).map((start) => ({ role, start })))
  const rows = await tx<Row[]>`
    with recursive bearer (id, role) as (
      select id, case when kind = 'directoryRole' then display_name end from directory_object
      where tenant_id = ${tenantId} and (kind = 'directoryRole' or id = any(${names.filter(isUuid)}::uuid[]))
    ), within (bearer, role, id) as (
      select id, role, id from bearer
      union
      select within.bearer, within.role, edge.member_id from within
      join member_edge edge on edge.tenant_id = ${tenantId} and edge.container_id = within.id
      join directory_object inner_group on inner_group.tenant_id = ${tenantId} and inner_group.id = edge.member_id
        and inner_group.kind = 'group'
    ), enabled (id) as (
      select id from import_update
      where stored -> 'accountEnabled' = 'false' and merged -> 'accountEnabled' is distinct from 'false'
    ), imported (bearer, role, "as", id) as (
      select bearer, role, 'member', member_id from within join import_member on container_id = within.id
      union
      select bearer, role, 'member', member_id from within join import_role_member on container_id = within.id
      union
      select bearer, role, 'owner', member_id from within
      join import_owner on container_id = within.id
      join directory_object owned on owned.tenant_id = ${tenantId} and owned.id = container_id and owned.kind = 'group'
      union
      select bearer, role, 'member', edge.member_id from enabled
      join member_edge edge on edge.tenant_id = ${tenantId} and edge.member_id = enabled.id
      join within on within.id = edge.container_id
      union
      select bearer, role, 'owner', edge.owner_id from enabled
      join owner_edge edge on edge.tenant_id = ${tenantId} and edge.owner_id = enabled.id
      join directory_object owned on owned.tenant_id = ${tenantId} and owned.id = edge.object_id and owned.kind = 'group'
      join within on within.id = owned.id
    ), object (id, name) as not materialized (
      select id, name from (
        select id, unnest(array[id::text, lower((properties ->> 'userPrincipalName') collate "C"), lower((properties ->> 'appId') collate "C")]) as name
        from (
          select id, kind, properties from import_object
          union all select id, kind, merged from import_update where id in (select id from enabled)
            or lower((merged ->> 'userPrincipalName') collate "C") <> lower((stored ->> 'userPrincipalName') collate "C")
        ) written where kind in ('user', 'group', 'servicePrincipal')
      ) written where name is not null
    ), login (id, start) as (
      select id, unnest(array[name || '/', free, case when octet_length(free) = length(free) then left(free, ${visibleBytes}) else (
          select left(free, max(size)) from generate_series(1, ${visibleBytes}::int) size where octet_length(left(free, size)) <= ${visibleBytes}) end])
      from (
        select id, name, case when starts_with(name, 'pg_') then '_' else '' end || name || '/' as free from object
        where ${roles.length > 0}
      ) freed
    ), named (bearer, role, "as", id) as (
      select name, null, 'object', id from object where name = any(${names})
      union
      select listed.role, null, 'object', id from login
      join unnest(${roles.map(({ role }) => role)}::text[], ${roles.map(({ start }) => start)}::text[]) listed (role, start)
        using (start)
    )
    select bearer::text, role, "as", count(*)::int as count, (array_agg(id::text order by id))[:${mostIds}::int] as ids
    from (select bearer::text, role, "as", id from imported union all select bearer, role, "as", id from named) found
    group by bearer, role, "as" order by bearer, "as"`
  return rows.map(({ role, ...row }) => ({
    ...row,
    rights: role === null ? describe(given.filter((right) => right.given === row.bearer)) : [role],
  }))
}

function describe(rights: readonly GivenRight<string>[]): string[] {
  return rights.map(({ type, name, scope }) => [type, name, scope].filter((word) => word !== null).join(' '))
}
