import { createHash } from 'node:crypto'
import type { Fragment, Query } from '../../db/query.ts'

/** Stands in a proof for the right to sign in devices. No address is like it: each has a colon. */
export const devicePlace = 'device'

/** Names in a proof a registered address, or `devicePlace`. No certificate has such a thumbprint: none begins with these letters. */
export function namePlace(place: string): string {
  return createHash('sha256').update(`${placePrefix}${place}`).digest('base64url')
}

const placePrefix = 'address '

/**
 * Those of the proofs whose secret, certificate or address the application has, with the time at which that ends, in milliseconds. A
 * proof names the application, and the keyId of a secret, the SHA-256 thumbprint of a certificate, or an address by `namePlace`.
 */
export async function findKeptProofs(
  sql: Query,
  tenantId: string,
  proofs: readonly string[],
): Promise<ReadonlyMap<string, number>> {
  const rows = await sql<{ proof: string; endsAt: Date }[]>`
    select proof, max(ends_at) as "endsAt" from unnest(${proofs}::text[]) as proof,
      lateral (select split_part(proof, '/', 1)::uuid as application_id, split_part(proof, '/', 2) as name) as named,
      lateral (
        select ends_at from application_secret as secret
        where secret.tenant_id = ${tenantId} and secret.application_id = named.application_id
          and secret.key_id::text = named.name
        union all
        select ends_at from directory_object as application, lateral (
          select decode(certificate ->> 'key', 'base64'), (certificate ->> 'endDateTime')::timestamptz
          from jsonb_path_query(application.properties, '$.keyCredentials[*]') as certificate
          union all
          select convert_to(${placePrefix} || (address #>> '{}'), 'UTF8'), ${noEnd}::timestamptz
          from unnest(array['$.web', '$.spa', '$.publicClient']) as kind,
            jsonb_path_query(application.properties, (kind || '.redirectUris[*]')::jsonpath) as address
          union all
          select convert_to(${placePrefix + devicePlace}, 'UTF8'), ${noEnd}::timestamptz
          where application.properties -> 'isFallbackPublicClient' = 'true'
        ) as held (bytes, ends_at)
        where application.tenant_id = ${tenantId} and application.id = named.application_id
          and application.kind = 'application'
          and translate(encode(sha256(held.bytes), 'base64'), '+/=', '-_') = named.name
      ) as kept
    where ends_at > clock_timestamp() group by proof`
  return new Map(rows.map(({ proof, endsAt }) => [proof, endsAt.getTime()]))
}

/** Addresses end by their removal alone. */
const noEnd = '9999-12-31T00:00:00Z'

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
