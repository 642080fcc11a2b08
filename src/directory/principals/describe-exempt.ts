import type { Query } from '../../db/query.ts'
import { foldDisplayName } from '../../kernel/fold-display-name.ts'
import { foldPrincipalName } from '../../kernel/fold-principal-name.ts'
import { isUuid } from '../../kernel/uuid.ts'

const types = { user: 'User', group: 'Group', servicePrincipal: 'ServicePrincipal' } as const

/** A directory object that an entry of an exempt list names. */
export interface NamedPrincipal {
  readonly entry: string
  readonly id: string
  readonly type: (typeof types)[keyof typeof types]
  readonly name: string
}

interface Found {
  readonly id: string
  readonly kind: keyof typeof types
  readonly userPrincipalName: string | null
  readonly appId: string | null
  readonly displayName: string | null
}

/** The directory objects that entries name by id, userPrincipalName or appId, each with a name for people. */
export async function describeExempt(
  sql: Query,
  tenantId: string,
  entries: readonly string[],
): Promise<NamedPrincipal[]> {
  const ids = entries.filter((entry) => isUuid(entry)).map((id) => id.toLowerCase())
  const found = await sql<Found[]>`
    select id, kind, folded_principal_name as "userPrincipalName", app_id as "appId",
      display_name as "displayName"
    from directory_object where tenant_id = ${tenantId} and deleted_at is null
      and kind in ('user', 'group', 'servicePrincipal') and (id = any(${ids}::uuid[])
        or (kind = 'user' and folded_principal_name = any(${entries.map(foldPrincipalName)}))
        or (kind = 'servicePrincipal' and app_id = any(${ids})))`
  return entries.flatMap((entry) => {
    const key = foldPrincipalName(entry)
    const one = found.find(
      ({ id, userPrincipalName, appId }) => id === key || userPrincipalName === key || appId === key,
    )
    if (!one) return []
    const name = one.userPrincipalName ?? one.displayName ?? one.id
    return [{ entry, id: one.id, type: types[one.kind], name }]
  })
}

/**
 * The groups that have one of these display names by the one folding; a name need not be unique. The store selects plain
 * ASCII names, which every locale folds alike. It returns all other names: it does not know the folding.
 */
export async function findGroupsNamed(
  sql: Query,
  tenantId: string,
  names: readonly string[],
): Promise<{ readonly id: string; readonly name: string }[]> {
  const wanted = new Set(names.map(foldDisplayName))
  const candidates = await sql<{ id: string; name: string }[]>`
    select id, display_name as name from directory_object
    where tenant_id = ${tenantId} and kind = 'group' and deleted_at is null
      and (display_name ~ '[^ -~]' or upper(display_name collate "C") = any(${[...wanted]}::text[])) order by id`
  return candidates.filter(({ name }) => wanted.has(foldDisplayName(name)))
}
