import type { Query } from '../../db/query.ts'

export interface Profile {
  readonly displayName: string | null
  readonly givenName: string | null
  readonly surname: string | null
  readonly userPrincipalName: string | null
  readonly mail: string | null
}

/** The names and the mail address of a user who is there and enabled. */
export async function readProfile(sql: Query, tenantId: string, id: string): Promise<Profile | undefined> {
  const [row] = await sql<Profile[]>`
    select display_name as "displayName", properties ->> 'givenName' as "givenName", properties ->> 'surname' as surname,
      user_principal_name as "userPrincipalName", properties ->> 'mail' as mail
    from directory_object
    where tenant_id = ${tenantId} and id = ${id} and kind = 'user' and deleted_at is null
      and coalesce(properties -> 'accountEnabled' <> 'false', true)`
  return row
}
