import { permissionsBeyondOwnData, permissionsByPeople } from '../../auth/grantable-permissions.ts'
import type { Fragment, Query } from '../../db/query.ts'

/** A client that admits assigned people alone, and that gives them more than their own data. */
export interface Access {
  readonly id: string
  readonly name: string | null
}

/**
 * A column with the clients that the principal of an alias is assigned to, as JSON: those that require assignments and have
 * permissions beyond own data consented for everyone, or for the person. Null: there are none. OFFSET 0 keeps the lookup an index
 * scan: the server would look for clients that give access first, among all objects.
 */
export function selectAccess(
  sql: Query,
  tenantId: string,
  { principalId, personId }: { readonly principalId: Fragment; readonly personId: Fragment },
  dormant: boolean,
): Fragment {
  return sql`(
    select jsonb_agg(distinct jsonb_build_object('id', client.id, 'name', client.display_name))
    from app_role_assignment granted
    cross join lateral (
      select id, display_name, properties from directory_object
      where tenant_id = ${tenantId} and id = granted.resource_id and (${dormant} or deleted_at is null) offset 0
    ) client
    where granted.tenant_id = ${tenantId} and granted.principal_id = ${principalId} and ${givesAccess(sql, tenantId, personId)})`
}

/** Every such access of a group, also to deleted clients. */
export async function listAccessOfGroups(sql: Query, tenantId: string) {
  const rows = await sql<(Access & { given: string })[]>`
    select distinct granted.principal_id as given, client.id, client.display_name as name
    from app_role_assignment granted
    join directory_object client on client.tenant_id = ${tenantId} and client.id = granted.resource_id
    join directory_object bearer on bearer.tenant_id = ${tenantId} and bearer.id = granted.principal_id
    where granted.tenant_id = ${tenantId} and bearer.kind = 'group' and ${givesAccess(sql, tenantId, anyPerson(sql))}
    order by given, client.id`
  return rows.map(({ given, ...access }) => ({ ...describeAccess(access), given }))
}

const clientSet = '/servicePrincipals/'

export function describeAccess({ id, name }: Access) {
  return { type: 'applicationAccess', name, scope: `${clientSet}${id}` } as const
}

/** The client of a right that `describeAccess` made. */
export function clientOf({ scope }: { readonly scope: string | null }): string {
  return String(scope).slice(clientSet.length)
}

/** The permissions that the clients give to the principal when they admit it, or to the members of groups that they admit. */
export async function readAccessPermissions(
  sql: Query,
  tenantId: string,
  clientIds: readonly string[],
  principalId?: string,
): Promise<string[]> {
  const isOfClient = sql`client_id = any(${[...clientIds]}::uuid[])`
  const personId = principalId
    ? sql`(select id from directory_object
        where tenant_id = ${tenantId} and id = ${principalId} and kind <> 'group')`
    : anyPerson(sql)
  const rows = await sql<{ permission: string }[]>`
    select distinct permission from (${selectConsents(sql, tenantId, isOfClient, personId)}) consent order by 1`
  return rows.map(({ permission }) => permission)
}

function givesAccess(sql: Query, tenantId: string, personId: Fragment): Fragment {
  return sql`client.properties -> 'appRoleAssignmentRequired' = 'true' and exists (
    ${selectConsents(sql, tenantId, sql`client_id = client.id`, personId)})`
}

/**
 * The permissions that reach beyond the person's own data: consented for everyone, and by administrators for this person, or where that
 * is null for any: each person may become a member of a group. The names that people consent to are constants, so that the
 * index without them serves: the client may have consents of all people.
 */
function selectConsents(sql: Query, tenantId: string, isOfClient: Fragment, personId: Fragment): Fragment {
  return sql`
    select permission from delegated_permission
    where tenant_id = ${tenantId} and ${isOfClient} and user_id is null
      and permission = any(${[...permissionsBeyondOwnData]})
    union all
    select permission from delegated_permission
    where tenant_id = ${tenantId} and ${isOfClient} and user_id = coalesce(${personId}, user_id)
      and permission <> all(${sql.unsafe(`'{${permissionsByPeople}}'::text[]`)})`
}

function anyPerson(sql: Query): Fragment {
  return sql`null::uuid`
}
