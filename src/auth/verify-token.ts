import { type CryptoKey, errors, jwtVerify, type KeyObject } from 'jose'
import { BoundedCache } from '../kernel/cache.ts'
import { parseJson } from '../kernel/json.ts'
import { fail, Problem } from '../kernel/problem.ts'
import type { ExchangedToken } from '../kernel/token-grounds.ts'
import type { Bearer } from './bearer.ts'
import type { CallerFacts } from './caller.ts'
import type { Identity } from './identity.ts'
import { issueTimeClaim } from './issue-time.ts'
import { accessTokenType, type SigningKeys, signingAlgorithm } from './signing-keys.ts'
import {
  type ClaimNames,
  type Claims,
  ourClaimNames,
  readClaims,
  readExchanged,
  readProofs,
  signInOriginClaim,
} from './token-claims.ts'

/** The issuers whose tokens are accepted, and how tokens are checked. */
export interface AcceptedIssuer {
  readonly issuer: string
  readonly ours: boolean
  /** Principals that the directory does not hold are refused. */
  readonly knownPrincipalsOnly: boolean
  readonly algorithms: readonly string[]
  /** The header's `typ`; undefined: any. */
  readonly type: string | undefined
  readonly claimNames: ClaimNames
  /** The value that the tenant claim must have. */
  readonly tenantId: string
  isAudience(resource: string): boolean
  /** Throws `InvalidToken` for a key that the issuer does not have. */
  findKey(kid: string, algorithm: string): Promise<CryptoKey | KeyObject>
}

/** The facts that a token's signature proves. Whether its principal still exists is looked up separately. */
export interface VerifiedToken {
  readonly facts: CallerFacts
  readonly issuer: AcceptedIssuer
  readonly kid: string
  readonly issuedAtMs: number
  /** False: the token tells its time in whole seconds. */
  readonly isTimeExact: boolean
  /** The sign-in that the token came from; undefined for an application's, an operator's and an outside one. */
  readonly signInId: string | undefined
  /** The secrets and certificates that the token was issued by; none for a public client, an operator and an outside issuer. */
  readonly proofs: readonly string[]
  /** The tokens that it was exchanged for, one for another. */
  readonly exchanged: readonly ExchangedToken[]
  /** Until then the signature and the times need no other look. */
  readonly untilMs: number
}

export interface Verifier {
  verify(bearer: Bearer): Promise<VerifiedToken>
  /** False when the key that signed the token was withdrawn. */
  isKeyHeld(token: VerifiedToken): boolean
}

const clockLeewaySeconds = 30
const cachedTokens = 20_000
/** An issuer may withdraw a key before the tokens it signed have ended. */
const maxCacheMs = 10 * 60_000

export interface VerifierOptions {
  readonly identity: Identity
  readonly signingKeys: SigningKeys
  readonly outsideIssuers: readonly AcceptedIssuer[]
}

export function createVerifier({ identity, signingKeys, outsideIssuers }: VerifierOptions): Verifier {
  const cache = new BoundedCache<VerifiedToken>(cachedTokens)
  const outside = new Map(outsideIssuers.map((issuer) => [issuer.issuer, issuer]))
  const findIssuer = (name: string) =>
    name === identity.issuer() ? ourIssuer(identity, signingKeys) : outside.get(name)

  const isKeyHeld = ({ issuer, kid }: VerifiedToken) => !issuer.ours || signingKeys.find(kid) !== undefined

  const verify = async ({ token, digest }: Bearer): Promise<VerifiedToken> => {
    const known = cache.get(digest)
    if (known && isKeyHeld(known)) return known

    const { header, claims } = readParts(token)
    const issuer = typeof claims.iss === 'string' ? findIssuer(claims.iss) : undefined
    if (!issuer || typeof header.kid !== 'string' || typeof header.alg !== 'string') fail('InvalidToken')
    if (!issuer.algorithms.includes(header.alg)) fail('InvalidToken')
    const expiresAtMs = await checkSignatureAndTimes(token, issuer, header.kid, header.alg)
    checkAudience(claims.aud, issuer)

    const verified: VerifiedToken = {
      facts: {
        ...readClaims(claims, issuer.claimNames, { ours: identity.tenantId, named: issuer.tenantId }),
        ...(issuer.ours && readSignInOrigin(claims)),
      },
      issuer,
      kid: header.kid,
      ...readTime(claims, issuer.ours),
      signInId: issuer.ours && typeof claims.sid === 'string' ? claims.sid : undefined,
      proofs: issuer.ours ? readProofs(claims) : [],
      exchanged: issuer.ours ? readExchanged(claims) : [],
      untilMs: Math.min(expiresAtMs, Date.now() + maxCacheMs),
    }
    cache.set(digest, verified, verified.untilMs)
    return verified
  }
  return { verify, isKeyHeld }
}

function ourIssuer(identity: Identity, signingKeys: SigningKeys): AcceptedIssuer {
  return {
    issuer: identity.issuer(),
    ours: true,
    knownPrincipalsOnly: true,
    algorithms: [signingAlgorithm],
    type: accessTokenType,
    claimNames: ourClaimNames,
    tenantId: identity.tenantId,
    isAudience: identity.isAudience,
    async findKey(kid) {
      const known = signingKeys.find(kid)
      if (known) return known.publicKey
      await signingKeys.refresh()
      return signingKeys.find(kid)?.publicKey ?? fail('InvalidToken')
    },
  }
}

/** Decodes without believing. A claim that is there twice is refused: two readers could each take another one. */
function readParts(token: string): { header: Claims; claims: Claims } {
  const parts = token.split('.')
  const [header, claims] = parts.slice(0, 2).map(readPart)
  if (parts.length !== 3 || !header || !claims) fail('InvalidToken')
  return { header, claims }
}

function readPart(part: string): Claims {
  try {
    const bytes = Buffer.from(part, 'base64url')
    const value = parseJson(new TextDecoder('utf-8', { fatal: true }).decode(bytes))
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Claims
  } catch (error) {
    // Anything that cannot be decoded is the sender's doing.
    if (!(error instanceof Problem || error instanceof TypeError)) throw error
  }
  return fail('InvalidToken')
}

async function checkSignatureAndTimes(
  token: string,
  issuer: AcceptedIssuer,
  kid: string,
  algorithm: string,
): Promise<number> {
  const key = await issuer.findKey(kid, algorithm)
  try {
    const { payload } = await jwtVerify(token, key, {
      algorithms: [algorithm],
      issuer: issuer.issuer,
      clockTolerance: clockLeewaySeconds,
      requiredClaims: issuer.ours ? ['exp', 'iat', 'nbf', 'sub', 'aud'] : ['exp', 'iat', 'aud'],
      ...(issuer.type !== undefined && { typ: issuer.type }),
    })
    return Number(payload.exp) * 1000
  } catch (cause) {
    if (cause instanceof errors.JWTExpired) fail('ExpiredToken', {}, { cause })
    if (cause instanceof errors.JOSEError || cause instanceof TypeError) fail('InvalidToken', {}, { cause })
    throw cause
  }
}

function checkAudience(audience: unknown, issuer: AcceptedIssuer): void {
  const named = Array.isArray(audience) ? audience : [audience]
  if (!named.some((one) => typeof one === 'string' && issuer.isAudience(one))) fail('InvalidAudience')
}

function readSignInOrigin({ [signInOriginClaim]: signInOrigin }: Claims): Pick<CallerFacts, 'signInOrigin'> {
  return typeof signInOrigin === 'string' ? { signInOrigin } : {}
}

function readTime(claims: Readonly<Record<string, unknown>>, isOurs: boolean) {
  const exact = claims[issueTimeClaim]
  return isOurs && typeof exact === 'number'
    ? { issuedAtMs: exact, isTimeExact: true }
    : { issuedAtMs: Number(claims.iat) * 1000, isTimeExact: false }
}
