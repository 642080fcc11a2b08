import { createHash, randomBytes, randomUUID, timingSafeEqual } from 'node:crypto'
import type { Query } from '../../db/query.ts'
import { fail } from '../../kernel/problem.ts'
import { noteApplicationChange } from './application-change.ts'

export interface NewSecret {
  readonly keyId: string
  /** Shown once: only its hash is kept. */
  readonly secretText: string
  readonly hint: string
  readonly displayName: string | null
  readonly startsAt: Date
  readonly endsAt: Date
}

export interface SecretWishes {
  readonly displayName?: string | null
  readonly startsAt?: Date
  readonly endsAt?: Date
}

const defaultLifetimeMs = 365 * 24 * 60 * 60 * 1000
const longestLifetimeMs = 2 * defaultLifetimeMs
const prefix = 'mq_'
const hintCharacters = 3

/**
 * SHA-256 once and no salt: the secret is 256 random bits of ours, so there is nothing to guess, and a slow hash
 * would only make the token endpoint an easy target.
 */
function hashSecret(secret: string): string {
  return createHash('sha256').update(secret).digest('base64url')
}

export async function addSecret(
  tx: Query,
  tenantId: string,
  applicationId: string,
  { displayName = null, startsAt = new Date(), endsAt }: SecretWishes = {},
): Promise<NewSecret> {
  const end = endsAt ?? new Date(startsAt.getTime() + defaultLifetimeMs)
  if (end <= startsAt || end.getTime() - startsAt.getTime() > longestLifetimeMs)
    fail('InvalidPropertyValue', { property: 'endDateTime', resource: 'PasswordCredential' })
  const secretText = prefix + randomBytes(32).toString('base64url')
  const secret = {
    keyId: randomUUID(),
    secretText,
    hint: secretText.slice(prefix.length, prefix.length + hintCharacters),
    displayName,
    startsAt,
    endsAt: end,
  }
  await lockApplication(tx, tenantId, applicationId)
  await tx`
    insert into application_secret
      (tenant_id, application_id, key_id, hash, hint, display_name, starts_at, ends_at)
    values (${tenantId}, ${applicationId}, ${secret.keyId}, ${hashSecret(secretText)}, ${secret.hint},
      ${displayName}, ${startsAt}, ${end})`
  await showSecrets(tx, tenantId, applicationId)
  return secret
}

export async function removeSecret(
  tx: Query,
  tenantId: string,
  applicationId: string,
  keyId: string,
): Promise<void> {
  await lockApplication(tx, tenantId, applicationId)
  const removed = await tx`
    delete from application_secret
    where tenant_id = ${tenantId} and application_id = ${applicationId} and key_id = ${keyId}`
  if (removed.count === 0) fail('CredentialNotFound')
  await showSecrets(tx, tenantId, applicationId)
}

/** Removes all secrets and certificates of an application. */
export async function removeCredentials(tx: Query, tenantId: string, applicationId: string): Promise<void> {
  await lockApplication(tx, tenantId, applicationId)
  await tx`delete from application_secret where tenant_id = ${tenantId} and application_id = ${applicationId}`
  await tx`
    update directory_object set properties = properties - 'keyCredentials'
    where tenant_id = ${tenantId} and id = ${applicationId} and kind = 'application'`
  await showSecrets(tx, tenantId, applicationId)
}

/**
 * Two changes of the secrets of one application in turn: the list of the later one has what the earlier one left. Before the first row
 * is written, as a new secret holds its application too, and two of them would wait for each other.
 */
async function lockApplication(tx: Query, tenantId: string, applicationId: string): Promise<void> {
  await tx`
    select from directory_object
    where tenant_id = ${tenantId} and id = ${applicationId} and kind = 'application' for update`
}

/** The id of a secret that is valid now; undefined: the application has none like it. */
export async function findSecret(
  sql: Query,
  tenantId: string,
  applicationId: string,
  secret: string,
): Promise<string | undefined> {
  const rows = await sql<{ keyId: string; hash: string }[]>`
    select key_id as "keyId", hash from application_secret
    where tenant_id = ${tenantId} and application_id = ${applicationId}
      and starts_at <= now() + interval '1 minute' and ends_at > now()`
  const offered = Buffer.from(hashSecret(secret))
  return rows.filter(({ hash }) => timingSafeEqual(Buffer.from(hash), offered))[0]?.keyId
}

/**
 * When the secret ends; undefined where it is gone, or the application is disabled or deleted. Until the end of the
 * transaction both stay.
 */
export async function holdSecret(
  tx: Query,
  tenantId: string,
  applicationId: string,
  keyId: string,
): Promise<Date | undefined> {
  const [held] = await tx<{ endsAt: Date }[]>`
    select secret.ends_at as "endsAt" from application_secret secret
    join directory_object application on application.tenant_id = secret.tenant_id and application.id = secret.application_id
    join directory_object principal on principal.tenant_id = secret.tenant_id
      and principal.kind = 'servicePrincipal' and principal.app_id = application.app_id
    where secret.tenant_id = ${tenantId} and secret.application_id = ${applicationId} and secret.key_id = ${keyId}
      and secret.ends_at > now() and principal.deleted_at is null
      and principal.properties -> 'accountEnabled' is distinct from 'false'::jsonb
    for share of secret, principal`
  return held?.endsAt
}

/** True for an application with any secret that is valid now. */
export async function hasSecret(sql: Query, tenantId: string, applicationId: string): Promise<boolean> {
  const rows = await sql`
    select from application_secret
    where tenant_id = ${tenantId} and application_id = ${applicationId} and ends_at > now() limit 1`
  return rows.count > 0
}

interface SecretRow {
  readonly key_id: string
  readonly hint: string
  readonly display_name: string | null
  readonly starts_at: Date
  readonly ends_at: Date
}

/** The application shows which secrets it has, never the secrets. */
async function showSecrets(tx: Query, tenantId: string, applicationId: string): Promise<void> {
  const rows = await tx<SecretRow[]>`
    select key_id, hint, display_name, starts_at, ends_at from application_secret
    where tenant_id = ${tenantId} and application_id = ${applicationId} order by starts_at, key_id`
  const passwordCredentials = rows.map((row) => ({
    keyId: row.key_id,
    displayName: row.display_name,
    hint: row.hint,
    startDateTime: row.starts_at.toISOString(),
    endDateTime: row.ends_at.toISOString(),
  }))
  await tx`
    update directory_object set version = version + 1,
      properties = properties || ${tx.json({ passwordCredentials })}::jsonb
    where tenant_id = ${tenantId} and id = ${applicationId} and kind = 'application'`
  await noteApplicationChange(tx, tenantId, applicationId, 'updated')
}
