import { createHash } from 'node:crypto'
import type { Fragment, Query } from '../../db/query.ts'
import { readSignInWays, type SignInProperties } from './redirect-uris.ts'

/** Stands in a proof for the right to sign in devices. No address is like it: each has a colon. */
export const devicePlace = 'device'

/** Stands in a proof for the other ports of a registered loopback address. No address is like it: no scheme has a space. */
export function nameAnyPort(address: string): string {
  return `any port of ${address}`
}

/**
 * Names in a proof a registered address, `devicePlace` or a result of `nameAnyPort`. No certificate has such a thumbprint: none begins with
 * these letters.
 */
export function namePlace(place: string): string {
  return createHash('sha256').update(`address ${place}`).digest('base64url')
}

/**
 * Those of the proofs whose secret, certificate or address the application has, with the time at which that ends, in milliseconds. A
 * proof names the application, and the keyId of a secret, the SHA-256 thumbprint of a certificate, or a place by `namePlace`. An address
 * counts while sign-ins are answered there.
 */
export async function findKeptProofs(
  sql: Query,
  tenantId: string,
  proofs: readonly string[],
): Promise<ReadonlyMap<string, number>> {
  const rows = await sql<KeptRow[]>`
    select proof, named.application_id as "applicationId", named.name, application.ways, (
        select max(ends_at) from (
          select secret.ends_at from application_secret as secret
          where secret.tenant_id = ${tenantId} and secret.application_id = named.application_id
            and secret.key_id::text = named.name
          union all
          select (certificate ->> 'endDateTime')::timestamptz
          from jsonb_path_query(application.properties, '$.keyCredentials[*]') as certificate
          where translate(encode(sha256(decode(certificate ->> 'key', 'base64')), 'base64'), '+/=', '-_') = named.name
        ) as kept (ends_at)
        where ends_at > clock_timestamp()
      ) as "endsAt"
    from unnest(${proofs}::text[]) as proof,
      lateral (select split_part(proof, '/', 1)::uuid as application_id, split_part(proof, '/', 2) as name) as named
      left join lateral (
        select properties, jsonb_build_object(
            'web', properties -> 'web', 'spa', properties -> 'spa', 'publicClient', properties -> 'publicClient',
            'isFallbackPublicClient', properties -> 'isFallbackPublicClient') as ways
        from directory_object
        where tenant_id = ${tenantId} and id = named.application_id and kind = 'application'
      ) as application on true`
  const places = new Map<string, ReadonlySet<string>>()
  const kept = new Map<string, number>()
  for (const { proof, applicationId, name, ways, endsAt } of rows) {
    if (ways && !places.has(applicationId)) places.set(applicationId, listPlaces(ways))
    if (endsAt) kept.set(proof, endsAt.getTime())
    else if (places.get(applicationId)?.has(name)) kept.set(proof, noEnd)
  }
  return kept
}

interface KeptRow {
  readonly proof: string
  readonly applicationId: string
  readonly name: string
  /** Null without the application. */
  readonly ways: SignInProperties | null
  /** Of the secret or certificate. */
  readonly endsAt: Date | null
}

/** The names of all places where sign-ins of the application are answered. */
function listPlaces(properties: SignInProperties): ReadonlySet<string> {
  const { redirectUris, kind, maySignInDevices } = readSignInWays(properties)
  const ports = kind === 'native' ? redirectUris.map(nameAnyPort) : []
  return new Set([...redirectUris, ...ports, ...(maySignInDevices ? [devicePlace] : [])].map(namePlace))
}

/** Addresses end by their removal alone, or by a change of the application that ends sign-ins there. */
const noEnd = Date.parse('9999-12-31T00:00:00Z')

/**
 * A condition for a larger statement: false only when the application has all the secrets. Certificates and addresses are always in doubt, as
 * the transaction that asks may have added them again.
 */
export function mayLackProof(sql: Query, tenantId: string, proofs: readonly string[]): Fragment {
  return sql`exists (
    select from unnest(${proofs}::text[]) as proof,
      lateral (select split_part(proof, '/', 1)::uuid as application_id, split_part(proof, '/', 2) as name) as named
    where not ${hasSecret(sql, tenantId)})`
}

function hasSecret(sql: Query, tenantId: string): Fragment {
  return sql`exists (
    select from application_secret as secret
    where secret.tenant_id = ${tenantId} and secret.application_id = named.application_id
      and secret.key_id::text = named.name and secret.ends_at > clock_timestamp())`
}
