import {
  permissionsBeyondOwnData,
  permissionsBeyondSignIn,
  permissionsByPeople,
} from '../../auth/grantable-permissions.ts'
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

/** The permissions beyond own data that the clients give to the members of groups that they admit. */
export async function readAccessPermissions(
  sql: Query,
  tenantId: string,
  clientIds: readonly string[],
): Promise<string[]> {
  const isOfClient = sql`client_id = any(${[...clientIds]}::uuid[])`
  const consents = selectConsents(sql, tenantId, { isOfClient, personId: anyPerson(sql) })
  const rows = await sql<{ permission: string }[]>`
    select distinct permission from (${consents}) consent order by 1`
  return rows.map(({ permission }) => permission)
}

/**
 * The permissions that a client has for the principal as soon as it is assigned, or for the members of a group. Those of own data
 * count too: the client gets these data, and no page asks the person. None for a service principal: people alone are admitted.
 */
export async function readAdmittedPermissions(
  sql: Query,
  tenantId: string,
  clientId: string,
  principalId: string,
): Promise<string[]> {
  const isOfClient = sql`client_id = ${clientId}`
  const personId = sql`case when admitted.kind = 'user' then admitted.id end`
  const consents = selectConsents(sql, tenantId, { isOfClient, personId, counted: permissionsBeyondSignIn })
  const rows = await sql<{ permission: string }[]>`
    select distinct permission from directory_object admitted cross join lateral (${consents}) consent
    where admitted.tenant_id = ${tenantId} and admitted.id = ${principalId} and admitted.kind <> 'servicePrincipal'
    order by 1`
  return rows.map(({ permission }) => permission)
}

function givesAccess(sql: Query, tenantId: string, personId: Fragment): Fragment {
  return sql`client.properties -> 'appRoleAssignmentRequired' = 'true' and exists (
    ${selectConsents(sql, tenantId, { isOfClient: sql`client_id = client.id`, personId })})`
}

interface Consents {
  readonly isOfClient: Fragment
  readonly personId: Fragment
  /** The permissions that count where they are consented for everyone. */
  readonly counted?: readonly string[]
}

/**
 * The permissions that reach beyond the person's own data: consented for everyone, and by administrators for this person, or where that
 * is null for any: each person may become a member of a group. The names that people consent to are constants, so that the
 * index without them serves: the client may have consents of all people.
 */
function selectConsents(
  sql: Query,
  tenantId: string,
  { isOfClient, personId, counted = permissionsBeyondOwnData }: Consents,
): Fragment {
  return sql`
    select permission from delegated_permission
    where tenant_id = ${tenantId} and ${isOfClient} and user_id is null and permission = any(${[...counted]})
    union all
    select permission from delegated_permission
    where tenant_id = ${tenantId} and ${isOfClient} and user_id = coalesce(${personId}, user_id)
      and permission <> all(${sql.unsafe(`'{${permissionsByPeople}}'::text[]`)})`
}

function anyPerson(sql: Query): Fragment {
  return sql`null::uuid`
}
