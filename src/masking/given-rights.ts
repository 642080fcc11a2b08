import type { Query } from '../db/query.ts'
import { foldPrincipalName } from '../kernel/fold-principal-name.ts'
import { canonicalNamespace, idOf } from './place.ts'

interface GivenRight {
  readonly type: 'maskingRole' | 'databaseRole' | 'exemption'
  readonly name: string | null
  readonly scope: string
  readonly given: string
}

interface DatabaseColumns {
  readonly subscriptionId: string
  readonly resourceGroupName: string
  readonly serverName: string
  readonly databaseName: string
}

/** True for the name of a role that a principal logs in as in some database; the directory decides it. */
type MayBeLoginRole = (role: string, principalName: string) => boolean

/**
 * Every right that masking gives to one of the principals: role assignments, mapped database roles, and entries of exempt
 * lists. Policies that are off count as well: enabling one gives nothing that is not listed here. Databases that no binding
 * ever logged in to give nothing, and neither do roles at scopes that never had any other, unless an Owner at `/` assigned them: otherwise a caller with an
 * empty resource group or subscription could freeze any account by naming it (DIR-290, DIR-293). One login counts for good,
 * wherever the database is bound later: otherwise a caller could bind it to nothing, take a right, and bind it back (DIR-299).
 */
async function readGivenRights(
  sql: Query,
  tenantId: string,
  { ids, names }: { readonly ids: readonly string[]; readonly names: readonly string[] },
  mayBeLoginRole: MayBeLoginRole,
): Promise<GivenRight[]> {
  const rows = await sql<RightRow[]>`
    select 'maskingRole' as type, role as name, principal_id::text as given, shown_scope as scope,
      null as "subscriptionId", null as "resourceGroupName", null as "serverName", null as "databaseName"
    from role_assignment a where tenant_id = ${tenantId} and principal_id = any(${[...ids]}::uuid[])
      and (scope = '/' or by_root_owner or exists (
        select from reached_place r
        where r.tenant_id = a.tenant_id and (r.key = a.scope or starts_with(r.key, a.scope || '/'))))
    union all
    select 'databaseRole', m.database_role, m.principal_id::text, null, ${placeColumns(sql)}
    from role_mapping m join masked_database d on d.id = m.database_id
    where d.tenant_id = ${tenantId} and ${wasReached(sql)}
      and m.principal_id = any(${[...ids]}::uuid[])
    union all
    select 'exemption', null, d.exempt_principals, null, ${placeColumns(sql)}
    from masked_database d
    where d.tenant_id = ${tenantId} and d.exempt_principals <> '' and ${wasReached(sql)}
      and (${names.length > 0} or string_to_array(lower(d.exempt_principals collate "C"), ';') && ${[...ids]}::text[])
    order by type desc, scope, name, "subscriptionId", "resourceGroupName", "serverName", "databaseName"`
  const exempt = rows.filter(({ type }) => type === 'exemption')
  return [
    ...rows
      .filter(({ type }) => type !== 'exemption')
      .map(({ type, name, given, scope, ...place }) => ({
        type,
        name,
        scope: scope ?? idOf(place, canonicalNamespace),
        given,
      })),
    ...findExemptions(exempt, { ids, names }, mayBeLoginRole),
  ]
}

interface RightRow extends DatabaseColumns {
  readonly type: GivenRight['type']
  readonly name: string | null
  /** The principal; for exemptions the whole list of a database. */
  readonly given: string
  /** Null: the right is of the database that the other columns name. */
  readonly scope: string | null
}

/** Entries of exempt lists that name one of the principals, or the login role that one has in some database. */
function findExemptions(
  lists: readonly RightRow[],
  { ids, names }: { readonly ids: readonly string[]; readonly names: readonly string[] },
  mayBeLoginRole: MayBeLoginRole,
): GivenRight[] {
  return lists.flatMap((row) => {
    const entries = row.given.split(';').map(foldPrincipalName)
    const isNamed = (name: string) => entries.some((entry) => entry === name || mayBeLoginRole(entry, name))
    return [...ids, ...names.map(foldPrincipalName)].filter(isNamed).map((given) => ({
      type: 'exemption',
      name: null,
      scope: idOf(row, canonicalNamespace),
      given,
    }))
  })
}

function wasReached(sql: Query) {
  return sql`exists (select from reached_place r where r.tenant_id = d.tenant_id and r.key = d.key)`
}

function placeColumns(sql: Query) {
  return sql`d.subscription_id as "subscriptionId", d.resource_group as "resourceGroupName",
    d.server_name as "serverName", d.name as "databaseName"`
}

/**
 * Every right that masking gives, or would once the database is bound, to whichever principal; entries of exempt lists
 * as they are, in lower case.
 */
export async function listGivenRights(sql: Query, tenantId: string): Promise<GivenRight[]> {
  const rows = await sql<RightRow[]>`
    select 'maskingRole' as type, role as name, principal_id::text as given, shown_scope as scope,
      null as "subscriptionId", null as "resourceGroupName", null as "serverName", null as "databaseName"
    from role_assignment where tenant_id = ${tenantId}
    union all
    select 'databaseRole', m.database_role, m.principal_id::text, null, ${placeColumns(sql)}
    from role_mapping m join masked_database d on d.id = m.database_id where d.tenant_id = ${tenantId}
    union all
    select 'exemption', null, lower(entry collate "C"), null, ${placeColumns(sql)}
    from masked_database d cross join lateral string_to_table(d.exempt_principals, ';') entry
    where d.tenant_id = ${tenantId} and entry <> ''
    order by type desc, scope, name`
  return rows.map(({ type, name, given, scope, ...place }) => ({
    type,
    name,
    scope: scope ?? idOf(place, canonicalNamespace),
    given,
  }))
}

/** The principals that are Owner at `/`. */
export async function readRootOwners(sql: Query, tenantId: string): Promise<string[]> {
  const rows = await sql<{ id: string }[]>`
    select principal_id as id from role_assignment where tenant_id = ${tenantId} and scope = '/' and role = 'Owner'`
  return rows.map(({ id }) => id)
}

/** The questions that the directory asks about rights which masking gives. */
export function createGivenRights(mayBeLoginRole: MayBeLoginRole) {
  return {
    readRootOwners,
    readGivenRights: (
      sql: Query,
      tenantId: string,
      principals: { readonly ids: readonly string[]; readonly names: readonly string[] },
    ) => readGivenRights(sql, tenantId, principals, mayBeLoginRole),
  }
}
