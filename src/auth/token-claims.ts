import { fail } from '../kernel/problem.ts'
import type { ExchangedToken } from '../kernel/token-grounds.ts'
import { isUuid, uuidPattern } from '../kernel/uuid.ts'
import type { CallerFacts } from './caller.ts'
import { consumerTenantId } from './identity.ts'
import { issueTimeClaim } from './issue-time.ts'

/** Where an issuer puts what we need to know; the first claim that is there counts. */
export interface ClaimNames {
  readonly oid: readonly string[]
  /** Empty: the issuer knows no tenants, and every principal it vouches for belongs to ours. */
  readonly tid: readonly string[]
  readonly scp: readonly string[]
  readonly roles: readonly string[]
  readonly appid: readonly string[]
  readonly wids: readonly string[]
}

export const ourClaimNames: ClaimNames = {
  oid: ['oid'],
  tid: ['tid'],
  scp: ['scp'],
  roles: ['roles'],
  appid: ['azp', 'appid'],
  wids: ['wids'],
}

/** Tells in tokens of ours which consents of the person count: those for this origin. */
export const signInOriginClaim = 'sign_in_origin'

/**
 * Names in tokens of ours what they were issued by: `<application id>/<keyId of the secret>`,
 * `<application id>/<SHA-256 thumbprint of the certificate>` and `<application id>/<hash of the address of the sign-in>`.
 */
export const clientProofsClaim = 'client_proofs'

/** Names in exchanged tokens of ours the tokens that they were exchanged for: `{ appid, iat_ms }`. */
export const exchangedTokensClaim = 'exchanged_tokens'

export type Claims = Readonly<Record<string, unknown>>

const maxNameLength = 200
const proofPattern = new RegExp(`^${uuidPattern}/(?:${uuidPattern}|[\\w-]{43})$`)

/** Refuses a claim of another form: what it names could not be looked up. */
export function readProofs({ [clientProofsClaim]: proofs }: Claims): readonly string[] {
  if (proofs === undefined) return []
  const isProof = (one: unknown) => typeof one === 'string' && proofPattern.test(one)
  return Array.isArray(proofs) && proofs.every(isProof) ? proofs : fail('InvalidToken')
}

/** Refuses a claim of another form, as it would leave out a client. */
export function readExchanged({ [exchangedTokensClaim]: tokens }: Claims): readonly ExchangedToken[] {
  if (tokens === undefined) return []
  if (!Array.isArray(tokens)) return fail('InvalidToken')
  return tokens.map((token: Claims | null) => {
    const issuedAtMs = token?.[issueTimeClaim]
    if (!token || typeof issuedAtMs !== 'number') return fail('InvalidToken')
    return { applicationId: readName(token, ['appid']).toLowerCase(), issuedAtMs }
  })
}

/** The claim that `readExchanged` reads. */
export function writeExchanged(tokens: readonly ExchangedToken[]): Claims {
  const written = tokens.map((token) => ({ appid: token.applicationId, [issueTimeClaim]: token.issuedAtMs }))
  return written.length > 0 ? { [exchangedTokensClaim]: written } : {}
}

/** Reads who a verified token is about. A token that leaves that open is no token. */
export function readClaims(
  claims: Claims,
  names: ClaimNames,
  tenants: { readonly ours: string; readonly named: string },
): CallerFacts {
  const objectId = readName(claims, names.oid)
  const applicationId = readName(claims, names.appid)
  if (!isUuid(objectId)) fail('InvalidToken')
  const kind = readKind(claims, names)
  const personal = isPersonal(claims, names, tenants.named)
  if (personal && kind === 'application') fail('InvalidToken')
  return {
    kind,
    personal,
    tenantId: tenants.ours,
    objectId: objectId.toLowerCase(),
    applicationId: applicationId.toLowerCase(),
    permissions: new Set(readList(pick(claims, kind === 'delegated' ? names.scp : names.roles))),
    directoryRoles: new Set(kind === 'delegated' ? readList(pick(claims, names.wids)) : []),
  }
}

/** `scp` makes a token a person's; `roles` without it, or `idtyp`, an application's. Both at once is neither. */
function readKind(claims: Claims, names: ClaimNames): CallerFacts['kind'] {
  const hasScopes = pick(claims, names.scp) !== undefined
  if (claims.idtyp === 'app') return hasScopes ? fail('InvalidToken') : 'application'
  if (hasScopes) return 'delegated'
  return pick(claims, names.roles) === undefined ? fail('InvalidToken') : 'application'
}

function isPersonal(claims: Claims, names: ClaimNames, tenantId: string): boolean {
  if (names.tid.length === 0) return false
  const tid = readName(claims, names.tid).toLowerCase()
  if (tid === consumerTenantId) return true
  return tid === tenantId.toLowerCase() ? false : fail('InvalidToken')
}

function pick(claims: Claims, names: readonly string[]): unknown {
  const name = names.find((candidate) => Object.hasOwn(claims, candidate))
  return name === undefined ? undefined : claims[name]
}

function readName(claims: Claims, names: readonly string[]): string {
  const value = pick(claims, names)
  return typeof value === 'string' && value !== '' && value.length <= maxNameLength
    ? value
    : fail('InvalidToken')
}

/** A string of names with spaces between, or an array of names. */
function readList(value: unknown): string[] {
  if (value === undefined) return []
  if (typeof value === 'string') return value.split(' ').filter(Boolean)
  if (Array.isArray(value) && value.every((item) => typeof item === 'string')) return value
  return fail('InvalidToken')
}
