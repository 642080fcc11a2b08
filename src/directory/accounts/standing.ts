import type { Standing, TokenHolder } from '../../auth/principals.ts'
import type { Fragment, Query } from '../../db/query.ts'
import type { TokenGrounds } from '../../kernel/token-grounds.ts'
import { findAssigned } from '../app-roles/find-assigned.ts'

interface Row {
  readonly kind: string | null
  readonly enabled: boolean | null
  /** The service principal of the client, where it requires assignments. */
  readonly strict_client_id: string | null
  readonly client_enabled: boolean | null
  readonly valid_from: Date | null
}

const everyClient = '00000000-0000-0000-0000-000000000000'

/** Revokes every token that the principal has. A changed password and a withdrawn permission do so too. */
export async function voidTokens(tx: Query, tenantId: string, principalId: string): Promise<void> {
  await tx`
    insert into token_cutoff (tenant_id, principal_id, client_id, valid_from)
    values (${tenantId}, ${principalId}, ${everyClient}, clock_timestamp())
    on conflict (tenant_id, principal_id, client_id) do update
      set valid_from = greatest(token_cutoff.valid_from, clock_timestamp())`
}

/** Revokes every token of every person and application. */
export async function voidAllTokens(tx: Query): Promise<void> {
  await tx`
    insert into token_cutoff (tenant_id, principal_id, client_id, valid_from)
    select tenant_id, id, ${everyClient}, clock_timestamp() from directory_object
    where kind in ('user', 'servicePrincipal')
    on conflict (tenant_id, principal_id, client_id) do update
      set valid_from = greatest(token_cutoff.valid_from, clock_timestamp())`
}

/**
 * Waits for revocations of the principal's tokens that are under way, through the client or any. Call it after the time of
 * a token was read and before its contents are: a revocation then either ended before the contents were read, or has a
 * later time than the token. Each row is locked by itself, so that no two transactions can wait for each other.
 */
export async function awaitRevocations(
  sql: Query,
  tenantId: string,
  principalId: string,
  clientId: string,
): Promise<void> {
  const rows = [[principalId, everyClient]]
  if (clientId !== principalId) rows.push([principalId, clientId], [clientId, everyClient])
  await Promise.all(
    rows.map(
      ([principal, client]) => sql`
        with placeholder as (
          insert into token_cutoff (tenant_id, principal_id, client_id, valid_from)
          values (${tenantId}, ${principal}, ${client}, to_timestamp(0))
          on conflict (tenant_id, principal_id, client_id) do nothing)
        select from token_cutoff
        where tenant_id = ${tenantId} and principal_id = ${principal} and client_id = ${client} for share`,
    ),
  )
}

/**
 * Locks the revocations of principals in the order of their ids, as triggers do that revoke the tokens of many. Before a statement that
 * deletes many principals: it revokes their tokens in any order, and would deadlock with these.
 */
export async function holdRevocations(
  tx: Query,
  tenantId: string,
  principalIds: readonly string[],
): Promise<void> {
  await tx`
    insert into token_cutoff (tenant_id, principal_id, client_id, valid_from)
    select tenant_id, id, ${everyClient}, to_timestamp(0) from directory_object
    where tenant_id = ${tenantId} and id = any(${principalIds}::uuid[]) and kind in ('user', 'servicePrincipal')
    order by id
    on conflict (tenant_id, principal_id, client_id) do update set valid_from = token_cutoff.valid_from`
}

/**
 * A condition for a larger statement: false only when the token of the holder stands. Each way to shut out a principal leaves
 * a row of `token_cutoff`, and no write removes one. A client that is not there leaves its own out of sight. A client that requires
 * assignments is always in doubt, and so is one that the transaction which asks has changed.
 */
export function mayBeRevoked(
  sql: Query,
  tenantId: string,
  { objectId, applicationId, issuedAtMs }: TokenHolder & Pick<TokenGrounds, 'issuedAtMs'>,
): Fragment {
  return sql`(
    select count(*) = 0 or coalesce(max(greatest(client.created_at, (select max(valid_from) from token_cutoff
        where tenant_id = ${tenantId} and principal_id in (${objectId}::uuid, client.id)))), '-infinity')
      >= to_timestamp(${issuedAtMs}::float8 / 1000) - interval '1 second'
      or coalesce(bool_or(client.properties -> 'appRoleAssignmentRequired' = 'true'
        or client.xmin = pg_current_xact_id_if_assigned()::xid), false)
    from directory_object as client
    where client.tenant_id = ${tenantId} and client.kind = 'servicePrincipal' and client.app_id = ${applicationId})`
}

/** The standing of a principal, and of the application that got its token, in the directory. */
export async function readStanding(
  sql: Query,
  tenantId: string,
  objectId: string,
  applicationId: string,
): Promise<Standing> {
  const [standing] = await readStandings(sql, tenantId, [{ objectId, applicationId }])
  return standing ?? toStanding(undefined, false)
}

/** The same for many holders of tokens, in their order. */
export async function readStandings(
  sql: Query,
  tenantId: string,
  holders: readonly TokenHolder[],
): Promise<Standing[]> {
  const rows = await sql<Row[]>`
    select principal.kind, principal.enabled, client.strict_client_id,
      case when exists (
          select from directory_object as application
          where application.tenant_id = ${tenantId} and application.kind = 'application'
            and application.app_id = holder.application_id and application.deleted_at is not null
        ) or (client.id is null and exists (
          select from purged_client where tenant_id = ${tenantId} and app_id = holder.application_id
        )) then false else client.enabled end as client_enabled,
      -- A service principal that was made anew takes no tokens over from its predecessor, whose revocations it lacks.
      greatest(client.created_at, (select max(valid_from) from token_cutoff
        where tenant_id = ${tenantId} and (
          (principal_id = holder.object_id and client_id in (${everyClient}, client.id))
          or (principal_id = client.id and client_id = ${everyClient})))) as valid_from
    from unnest(
      ${holders.map(({ objectId }) => objectId)}::uuid[], ${holders.map(({ applicationId }) => applicationId)}::text[]
    ) with ordinality as holder (object_id, application_id, place)
    left join lateral (
      select kind,
        deleted_at is null and properties -> 'accountEnabled' is distinct from 'false'::jsonb as enabled
      from directory_object
      where tenant_id = ${tenantId} and id = holder.object_id and kind in ('user', 'servicePrincipal')
    ) as principal on true
    left join lateral (
      -- Outside issuers know nothing of a deletion: the client that was deleted last is one that was blocked.
      select id, created_at, case when properties -> 'appRoleAssignmentRequired' = 'true' then id end as strict_client_id,
        deleted_at is null and properties -> 'accountEnabled' is distinct from 'false'::jsonb as enabled
      from directory_object
      where tenant_id = ${tenantId} and kind = 'servicePrincipal' and app_id = holder.application_id
      order by deleted_at desc nulls first limit 1
    ) as client on true
    order by holder.place`
  const places = rows.flatMap(({ kind, strict_client_id }, at) =>
    kind === 'user' && strict_client_id !== null ? [at] : [],
  )
  const visits = places.map((at) => ({
    userId: holders[at]?.objectId ?? '',
    clientId: rows[at]?.strict_client_id ?? '',
  }))
  const assigned = visits.length === 0 ? [] : await findAssigned(sql, tenantId, visits)
  const shutOut = new Set(places.filter((_, at) => assigned[at] !== true))
  return rows.map((row, at) => toStanding(row, !shutOut.has(at)))
}

function toStanding(row: Row | undefined, isAdmitted: boolean): Standing {
  return {
    kind: row?.kind === 'user' || row?.kind === 'servicePrincipal' ? row.kind : 'absent',
    enabled: row?.enabled ?? false,
    client: row?.client_enabled === true ? 'enabled' : row?.client_enabled === false ? 'disabled' : 'absent',
    validFromMs: row?.valid_from?.getTime() ?? 0,
    isAdmitted,
  }
}
