import { type CryptoKey, createLocalJWKSet, createRemoteJWKSet, errors } from 'jose'
import type { Logger } from 'pino'
import { isSafeUrl } from '../kernel/network.ts'
import { fail } from '../kernel/problem.ts'

const timeoutMs = 5_000
/** An unknown key is asked for at most this often, and an issuer that does not answer is left alone for that long. */
const pauseMs = 30_000
const maxAgeMs = 10 * 60_000

export interface RemoteKeysOptions {
  readonly issuer: string
  readonly jwksUri: string | undefined
  readonly discoveryUrl: string
  readonly log: Logger
}

/** The published keys of an outside issuer, fetched when they are first needed. */
export function createRemoteKeys({ issuer, jwksUri, discoveryUrl, log }: RemoteKeysOptions) {
  let remote: ReturnType<typeof createRemoteJWKSet> | undefined
  let retryAt = 0

  const connect = async () => {
    const uri = jwksUri ?? (await discover(issuer, discoveryUrl))
    return createRemoteJWKSet(new URL(uri), {
      timeoutDuration: timeoutMs,
      cooldownDuration: pauseMs,
      cacheMaxAge: maxAgeMs,
    })
  }
  const fetchKey = async (header: KeyName): Promise<CryptoKey> => {
    remote ??= await connect()
    return remote(header)
  }
  /** While the issuer is left alone, what it said last still counts. */
  const recallKey = (header: KeyName): Promise<CryptoKey> => {
    const known = remote?.jwks()
    return known ? createLocalJWKSet(known)(header) : fail('IssuerUnavailable')
  }

  return async function findKey(kid: string, alg: string): Promise<CryptoKey> {
    const header = { kid, alg }
    try {
      return await (Date.now() < retryAt ? recallKey(header) : fetchKey(header))
    } catch (cause) {
      if (cause instanceof errors.JWKSNoMatchingKey || cause instanceof errors.JWKSMultipleMatchingKeys)
        fail('InvalidToken', {}, { cause })
      if (Date.now() >= retryAt) {
        retryAt = Date.now() + pauseMs
        log.warn({ issuer, reason: (cause as Error).message }, 'the keys of an issuer cannot be fetched')
        return recallKeyOrFail(recallKey(header))
      }
      return fail('IssuerUnavailable', {}, { cause })
    }
  }
}

type KeyName = { kid: string; alg: string }

async function recallKeyOrFail(key: Promise<CryptoKey>): Promise<CryptoKey> {
  try {
    return await key
  } catch (cause) {
    return fail('IssuerUnavailable', {}, { cause, retryAfterSeconds: pauseMs / 1000 })
  }
}

async function discover(issuer: string, url: string): Promise<string> {
  const response = await fetch(url, { redirect: 'error', signal: AbortSignal.timeout(timeoutMs) })
  if (!response.ok) throw new Error(`the discovery document answers ${response.status}`)
  const document = (await response.json()) as { issuer?: unknown; jwks_uri?: unknown }
  if (document.issuer !== issuer) throw new Error('the discovery document is of another issuer')
  if (typeof document.jwks_uri !== 'string' || !isSafeUrl(document.jwks_uri))
    throw new Error('the discovery document names no safe jwks_uri')
  return document.jwks_uri
}
