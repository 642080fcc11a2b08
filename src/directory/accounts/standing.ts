import type { Standing } from '../../auth/principals.ts'
import type { Query } from '../../db/query.ts'

interface Row {
  readonly kind: string | null
  readonly enabled: boolean | null
  readonly client_enabled: boolean | null
  readonly valid_from: Date | null
}

const everyClient = '00000000-0000-0000-0000-000000000000'

/** Revokes every token that the principal has. A changed password and a withdrawn permission do so too. */
export async function voidTokens(tx: Query, tenantId: string, principalId: string): Promise<void> {
  await tx`
    insert into token_cutoff (tenant_id, principal_id, client_id, valid_from)
    values (${tenantId}, ${principalId}, ${everyClient}, clock_timestamp())
    on conflict (tenant_id, principal_id, client_id) do update set valid_from = excluded.valid_from`
}

/** The standing of a principal, and of the application that got its token, in the directory. */
export async function readStanding(
  sql: Query,
  tenantId: string,
  objectId: string,
  applicationId: string,
): Promise<Standing> {
  const [row] = await sql<Row[]>`
    select principal.kind, principal.enabled, client.enabled as client_enabled,
      (select max(valid_from) from token_cutoff
        where tenant_id = ${tenantId} and (
          (principal_id = ${objectId} and client_id in (${everyClient}, client.id))
          or (principal_id = client.id and client_id = ${everyClient}))) as valid_from
    from (select 1) as one
    left join lateral (
      select kind,
        deleted_at is null and properties -> 'accountEnabled' is distinct from 'false'::jsonb as enabled
      from directory_object
      where tenant_id = ${tenantId} and id = ${objectId} and kind in ('user', 'servicePrincipal')
    ) as principal on true
    left join lateral (
      select id, properties -> 'accountEnabled' is distinct from 'false'::jsonb and not exists (
          select from directory_object as application
          where application.tenant_id = ${tenantId} and application.kind = 'application'
            and application.app_id = ${applicationId} and application.deleted_at is not null
        ) as enabled
      from directory_object
      where tenant_id = ${tenantId} and kind = 'servicePrincipal' and app_id = ${applicationId}
        and deleted_at is null
    ) as client on true`
  return {
    kind: row?.kind === 'user' || row?.kind === 'servicePrincipal' ? row.kind : 'absent',
    enabled: row?.enabled ?? false,
    client: row?.client_enabled === true ? 'enabled' : row?.client_enabled === false ? 'disabled' : 'absent',
    validFromMs: row?.valid_from?.getTime() ?? 0,
  }
}
