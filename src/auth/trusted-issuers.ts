import { readFileSync } from 'node:fs'
import type { Logger } from 'pino'
import { type Static, Type } from 'typebox'
import { Value } from 'typebox/value'
import { isSafeUrl } from '../kernel/network.ts'
import { OperatorError } from '../kernel/operator-error.ts'
import { createRemoteKeys } from './remote-keys.ts'
import { type ClaimNames, ourClaimNames } from './token-claims.ts'
import type { AcceptedIssuer } from './verify-token.ts'

/** Only signatures by a key pair: with a shared secret, every verifier could also forge tokens. */
const outsideAlgorithms = ['ES256', 'RS256', 'PS256'] as const

const claimName = Type.Union([Type.String({ minLength: 1 }), Type.Null()])
const trustedIssuer = Type.Object(
  {
    issuer: Type.String({ minLength: 1 }),
    jwksUri: Type.Optional(Type.String()),
    discoveryUrl: Type.Optional(Type.String()),
    audiences: Type.Array(Type.String({ minLength: 1 }), { minItems: 1 }),
    tenantId: Type.Optional(Type.String({ minLength: 1 })),
    algorithms: Type.Optional(
      Type.Array(Type.Union(outsideAlgorithms.map((name) => Type.Literal(name))), { minItems: 1 }),
    ),
    claims: Type.Optional(
      Type.Object(
        {
          oid: Type.Optional(claimName),
          tid: Type.Optional(claimName),
          scp: Type.Optional(claimName),
          roles: Type.Optional(claimName),
          appid: Type.Optional(claimName),
          wids: Type.Optional(claimName),
        },
        { additionalProperties: false },
      ),
    ),
    principals: Type.Optional(Type.Union([Type.Literal('known'), Type.Literal('any')])),
  },
  { additionalProperties: false },
)
const trustedIssuers = Type.Array(trustedIssuer)

type TrustedIssuer = Static<typeof trustedIssuer>

/** Reads the operator's list; what is wrong with it is said in one line. */
export function loadTrustedIssuers(
  file: string | undefined,
  tenantId: string,
  log: Logger,
): readonly AcceptedIssuer[] {
  if (file === undefined) return []
  const listed = readList(file)
  for (const { issuer, jwksUri, discoveryUrl } of listed)
    for (const url of [jwksUri, discoveryUrl ?? discoveryUrlOf(issuer)])
      if (url !== undefined && !isSafeUrl(url))
        throw new OperatorError(
          `${file}: '${url}' is not an https URL (http is for loopback addresses alone).`,
        )
  const names = listed.map(({ issuer }) => issuer)
  if (new Set(names).size !== names.length) throw new OperatorError(`${file}: an issuer is listed twice.`)
  return listed.map((issuer) => acceptIssuer(issuer, tenantId, log))
}

function readList(file: string): readonly TrustedIssuer[] {
  let value: unknown
  try {
    value = JSON.parse(readFileSync(file, 'utf8'))
  } catch (cause) {
    const reason = cause instanceof SyntaxError ? 'is not JSON' : 'cannot be read'
    throw new OperatorError(`${file} ${reason} (MASQUERADE_TRUSTED_ISSUERS_FILE).`, { cause })
  }
  if (Value.Check(trustedIssuers, value)) return value
  const [first] = Value.Errors(trustedIssuers, value)
  throw new OperatorError(
    `${file} is not a list of issuers: ${first?.instancePath || '/'} ${first?.message ?? ''} (docs/tokens.md).`,
  )
}

function acceptIssuer(listed: TrustedIssuer, ourTenantId: string, log: Logger): AcceptedIssuer {
  const { issuer, jwksUri, discoveryUrl = discoveryUrlOf(issuer), audiences } = listed
  return {
    issuer,
    ours: false,
    knownPrincipalsOnly: listed.principals !== 'any',
    algorithms: listed.algorithms ?? outsideAlgorithms,
    type: undefined,
    claimNames: mapClaims(listed.claims ?? {}),
    tenantId: listed.tenantId ?? ourTenantId,
    isAudience: (resource) => audiences.includes(resource),
    findKey: createRemoteKeys({ issuer, jwksUri, discoveryUrl, log }),
  }
}

function discoveryUrlOf(issuer: string): string {
  return `${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`
}

/** A claim that is not mapped has our name; one that is mapped to null is not looked at. */
function mapClaims(mapped: NonNullable<TrustedIssuer['claims']>): ClaimNames {
  const choose = (name: keyof ClaimNames): readonly string[] => {
    const other = mapped[name]
    return other === undefined ? ourClaimNames[name] : other === null ? [] : [other]
  }
  return {
    oid: choose('oid'),
    tid: choose('tid'),
    scp: choose('scp'),
    roles: choose('roles'),
    appid: choose('appid'),
    wids: choose('wids'),
  }
}
