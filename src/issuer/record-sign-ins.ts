import { randomUUID } from 'node:crypto'
import type { errors, KoaContextWithOIDC, Provider } from 'oidc-provider'
import type { SignInAttempt, SignInFailure } from '../directory/audit-logs/sign-in-attempt.ts'
import { clientAddressOf } from '../kernel/client-address.ts'
import { deviceGrant, onBehalfOfGrant } from './route.ts'

export type RecordSignIn = (attempt: SignInAttempt) => void

/** The client of a request as the log of sign-ins has it. */
export function describeClient({ req }: KoaContextWithOIDC): Pick<SignInAttempt, 'address' | 'userAgent'> {
  return { address: clientAddressOf(req), userAgent: req.headers['user-agent'] }
}

const ways: Readonly<Record<string, SignInAttempt['by']>> = {
  authorization_code: 'code',
  refresh_token: 'refreshToken',
  client_credentials: 'clientCredentials',
  [deviceGrant]: 'deviceCode',
  [onBehalfOfGrant]: 'onBehalfOf',
}

/** Records tokens that were issued or refused, and sign-ins by a browser that was signed in already. */
export function recordTokens(provider: Provider, record: RecordSignIn): void {
  provider.on('authorization.success', (ctx) => {
    const { client, session, result } = ctx.oidc
    // The page on which the person just signed in has recorded that.
    if (result?.login) return
    note(record, ctx, { by: 'browserSession', user: session?.accountId, application: client?.clientId })
  })
  provider.on('grant.success', (ctx) => {
    const attempt = describeGrant(ctx)
    // The page or the browser's session has recorded this sign-in.
    if (attempt.by !== 'code') note(record, ctx, attempt)
  })
  provider.on('grant.error', (ctx, error) => {
    const failure = nameFailure(ctx, error)
    if (failure) note(record, ctx, { ...describeGrant(ctx), failure })
  })
}

type Described = Pick<SignInAttempt, 'by' | 'failure' | 'user' | 'application'>

function note(record: RecordSignIn, ctx: KoaContextWithOIDC, attempt: Described): void {
  record({ ...attempt, ...describeClient(ctx), correlationId: randomUUID() })
}

function describeGrant(ctx: KoaContextWithOIDC): Described {
  const { client, params, entities } = ctx.oidc
  const by = ways[String(params?.grant_type)] ?? 'code'
  const token = entities.RefreshToken ?? entities.AuthorizationCode ?? entities.DeviceCode
  const claimed = params?.client_id
  return {
    by,
    user: entities.Account?.accountId ?? token?.accountId ?? entities.AccessToken?.accountId,
    application: client?.clientId ?? (typeof claimed === 'string' ? claimed : undefined),
  }
}

/** Undefined for answers that are no failed sign-in: a device asks again until the person has entered the code. */
function nameFailure(ctx: KoaContextWithOIDC, error: errors.OIDCProviderError): SignInFailure | undefined {
  switch (error.error) {
    case 'authorization_pending':
    case 'slow_down':
      return undefined
    case 'invalid_client':
      return ctx.oidc.client ? 'wrongSecret' : 'unknownApplication'
    case 'invalid_grant':
    case 'expired_token':
      return 'grantEnded'
    case 'invalid_scope':
    case 'invalid_target':
      return 'notConsented'
    case 'access_denied':
      return 'notAssigned'
    default:
      return 'refusedRequest'
  }
}
