import type { Query } from '../../db/query.ts'
import { foldPrincipalName } from '../../kernel/fold-principal-name.ts'

export interface User {
  readonly id: string
  readonly userPrincipalName: string
  readonly displayName: string
  /** Undefined: there is none, or it has expired. */
  readonly passwordHash: string | undefined
  readonly passwordChangedAt: Date | undefined
  readonly mustChangePassword: boolean
}

interface UserRow {
  readonly id: string
  readonly user_principal_name: string | null
  readonly display_name: string | null
  readonly hash: string | null
  readonly changed_at: Date | null
  readonly must_change: boolean | null
}

/** Users that may sign in: neither deleted nor disabled. */
export async function findActiveUser(
  sql: Query,
  tenantId: string,
  by: { readonly id: string } | { readonly userPrincipalName: string },
): Promise<User | undefined> {
  const [row] = await sql<UserRow[]>`
    select account.id, account.user_principal_name, account.display_name, password.changed_at, password.must_change,
      case when coalesce(password.expires_at > clock_timestamp(), true) then password.hash end as hash
    from directory_object account
    left join user_password password on password.tenant_id = account.tenant_id and password.user_id = account.id
    where account.tenant_id = ${tenantId} and account.kind = 'user' and account.deleted_at is null
      and coalesce(account.properties -> 'accountEnabled' <> 'false', true)
      and ${'id' in by ? sql`account.id = ${by.id}` : sql`account.folded_principal_name = ${foldPrincipalName(by.userPrincipalName)}`}`
  if (!row) return undefined
  return {
    id: row.id,
    userPrincipalName: row.user_principal_name ?? '',
    displayName: row.display_name ?? row.user_principal_name ?? '',
    passwordHash: row.hash ?? undefined,
    passwordChangedAt: row.changed_at ?? undefined,
    mustChangePassword: row.must_change ?? false,
  }
}

/** The id of a user that is not deleted, disabled or not. */
export async function findUserId(
  sql: Query,
  tenantId: string,
  userPrincipalName: string,
): Promise<string | undefined> {
  const [row] = await sql<{ id: string }[]>`
    select id from directory_object
    where tenant_id = ${tenantId} and kind = 'user' and deleted_at is null
      and folded_principal_name = ${foldPrincipalName(userPrincipalName)}`
  return row?.id
}
