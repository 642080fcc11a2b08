import type { Query } from '../../db/query.ts'
import { translateConstraints } from '../../db/sqlstate.ts'

/** A password of a person or application for logins at the gateway, without the password. */
export interface DatabaseCredential {
  readonly id: string
  readonly principalId: string
  readonly name: string
  /** Paths in lower case; none: every database. */
  readonly databases: readonly string[]
  readonly createdAt: Date
  readonly expiresAt: Date
  readonly lastUsedAt: Date | null
}

translateConstraints({ database_credential_is_unique: 'CredentialExists' })

const columns = (sql: Query) => sql`
  id, principal_id as "principalId", name, databases, created_at as "createdAt", expires_at as "expiresAt",
  last_used_at as "lastUsedAt"`

/** Those of one principal, or all of them. */
export async function listStored(
  sql: Query,
  tenantId: string,
  principalId: string | null,
): Promise<DatabaseCredential[]> {
  return await sql<DatabaseCredential[]>`
    select ${columns(sql)} from database_credential
    where tenant_id = ${tenantId} and (${principalId}::uuid is null or principal_id = ${principalId})
    order by principal_id, name limit 10000`
}

interface NewCredential extends Pick<DatabaseCredential, 'principalId' | 'name' | 'databases' | 'expiresAt'> {
  readonly verifier: string
}

export async function storeCredential(
  tx: Query,
  tenantId: string,
  { principalId, name, databases, expiresAt, verifier }: NewCredential,
): Promise<DatabaseCredential> {
  // An expired one holds its name no longer.
  await tx`
    delete from database_credential
    where tenant_id = ${tenantId} and principal_id = ${principalId} and name = ${name} and expires_at <= now()`
  const [stored] = await tx<DatabaseCredential[]>`
    insert into database_credential (tenant_id, principal_id, name, verifier, databases, expires_at)
    values (${tenantId}, ${principalId}, ${name}, ${verifier}, ${databases}, ${expiresAt})
    returning ${columns(tx)}`
  if (!stored) throw new Error('a credential that was stored is not there')
  return stored
}

export async function countStored(tx: Query, tenantId: string, principalId: string): Promise<number> {
  const [row] = await tx<{ count: number }[]>`
    select count(*)::int as count from database_credential
    where tenant_id = ${tenantId} and principal_id = ${principalId}`
  return row?.count ?? 0
}

/** By name among those of a principal, or by id among all where `principalId` is null. Undefined: there is none. */
export async function removeStored(
  tx: Query,
  tenantId: string,
  principalId: string | null,
  key: string,
): Promise<DatabaseCredential | undefined> {
  const [removed] = await tx<DatabaseCredential[]>`
    delete from database_credential where tenant_id = ${tenantId}
      and (${principalId}::uuid is null or principal_id = ${principalId})
      and (id::text = ${key.toLowerCase()} or (${principalId}::uuid is not null and name = ${key}))
    returning ${columns(tx)}`
  return removed
}

/** Those of every principal. */
export async function removeAllStored(tx: Query): Promise<void> {
  await tx`delete from database_credential`
}

/** A credential as a login needs it. */
export interface StoredLogin extends Pick<DatabaseCredential, 'id' | 'databases'> {
  readonly verifier: string
}

export async function findLogin(
  sql: Query,
  tenantId: string,
  principalId: string,
  name: string,
): Promise<StoredLogin | undefined> {
  const [row] = await sql<StoredLogin[]>`
    select id, databases, verifier from database_credential
    where tenant_id = ${tenantId} and principal_id = ${principalId} and name = ${name} and expires_at > now()`
  return row
}

export async function noteUse(sql: Query, tenantId: string, id: string): Promise<void> {
  await sql`update database_credential set last_used_at = now() where tenant_id = ${tenantId} and id = ${id}`
}

/** Those of the credentials that are neither revoked nor expired. */
export async function findOpenCredentials(sql: Query, ids: readonly string[]): Promise<ReadonlySet<string>> {
  const rows = await sql<{ id: string }[]>`
    select id from database_credential where id = any(${ids}::uuid[]) and expires_at > now()`
  return new Set(rows.map(({ id }) => id))
}
