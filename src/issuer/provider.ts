import type { EventEmitter } from 'node:events'
import { type KoaContextWithOIDC, Provider } from 'oidc-provider'
import { firstPartyApplications } from '../auth/first-party.ts'
import type { SigningKey } from '../auth/signing-keys.ts'
import { compareSecrets } from './client-proof.ts'
import { describeOutage } from './describe-outage.ts'
import { describeDeviceCode, guardUserCodes } from './device-flow.ts'
import { renewFormTokens } from './foreign-forms.ts'
import { answerInteractions } from './interactions.ts'
import { allowOnBehalfOf } from './on-behalf-of.ts'
import { libraryPagePolicy } from './page.ts'
import { configureProvider, type ProviderOptions } from './provider-configuration.ts'
import { recordTokens } from './record-sign-ins.ts'
import { widenRefreshScopes } from './refresh-scopes.ts'
import { sayUnavailable } from './say-unavailable.ts'
import { keepSignInFacts } from './sign-in-origin.ts'
import { shapeTokenAnswer } from './token-answer.ts'

/**
 * Signs with the first key; the others verify what a client brings back. With other keys there is another provider,
 * on the same state.
 */
export function createProvider(options: ProviderOptions, keys: readonly SigningKey[]): Provider {
  const { database, identity, secret, log, recordSignIn, gatekeeper, findRevoked } = options
  const { tenantId } = identity
  const { sql } = database
  const provider = new Provider(identity.issuer(), configureProvider(options, keys))
  // Only what `issuer.ts` put into these headers arrives here.
  provider.proxy = true
  compareSecrets(provider, sql, tenantId)
  widenRefreshScopes(provider)
  keepSignInFacts(provider)
  endPortalWithSession(provider)
  renewFormTokens(provider)
  allowOnBehalfOf(provider, { sql, identity, findRevoked, openSession: gatekeeper.openSession })
  provider.use(async (ctx, next) => {
    ctx.set('content-security-policy', libraryPagePolicy)
    try {
      await next()
    } catch (err) {
      // The library saves sessions outside of its own handling of errors.
      if (!describeOutage(err)) throw err
      log.error({ err }, 'unexpected error in the token service')
      if (ctx.accepts('json', 'html') === 'html') ctx.type = 'html'
      sayUnavailable(ctx as Parameters<typeof sayUnavailable>[0], err)
    }
  })
  provider.use(
    answerInteractions(provider, { database, identity, secret, log, recordSignIn }) as Parameters<
      typeof provider.use
    >[0],
  )
  provider.use(guardUserCodes(sql, provider) as Parameters<typeof provider.use>[0])
  provider.use(shapeTokenAnswer as Parameters<typeof provider.use>[0])
  // Without a listener the framework would write to the console.
  const events: EventEmitter = provider
  events.on('error', (err: unknown) => log.error({ err }, 'unexpected error in the token service'))
  recordTokens(provider, recordSignIn)
  provider.on('device_authorization.success', (_ctx, body) => Object.assign(body, describeDeviceCode(body)))
  provider.on('server_error', (ctx, err) => {
    log.error({ err }, 'unexpected error in the token service')
    return sayUnavailable(ctx, err)
  })
  return provider
}

/** A person who signs out leaves no sign-in of the portal behind, though it asks for `offline_access`, by which others outlive the session. */
function endPortalWithSession(provider: Provider): void {
  provider.on('authorization.success', ({ oidc: { client, session } }: KoaContextWithOIDC) => {
    if (!session || client?.clientId !== firstPartyApplications.portal.appId) return
    session.authorizationFor(client.clientId).persistsLogout = false
  })
}
