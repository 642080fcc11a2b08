import type { AccessToken, ClientCredentials, Configuration, KoaContextWithOIDC } from 'oidc-provider'
import type { Logger } from 'pino'
import type { Gatekeeper } from '../auth/gatekeeper.ts'
import type { Identity } from '../auth/identity.ts'
import { signInScopes } from '../auth/known-permissions.ts'
import { type SigningKey, signingAlgorithm } from '../auth/signing-keys.ts'
import type { Database } from '../db/database.ts'
import type { RequireRoom } from '../db/store-health.ts'
import { findActiveUser } from '../directory/accounts/find-active-user.ts'
import { isOlderThanPassword } from '../directory/accounts/password.ts'
import type { SecretBox } from '../kernel/secret-box.ts'
import { accessTokenLifetimeSeconds, writeAccessTokenClaims } from './access-token.ts'
import { describeAccount } from './account.ts'
import { listAppRoles } from './app-roles.ts'
import { assertionAlgorithms, checkAssertion } from './client-certificates.ts'
import { clientFacts, createClientDirectory } from './client-directory.ts'
import { createInteractionPolicy, loadGrant, mayTellName } from './consent.ts'
import { createDeviceFlow } from './device-flow.ts'
import type { IssuerSecret } from './issuer-secret.ts'
import { renderLibraryError, renderLogout, renderLogoutDone } from './library-pages.ts'
import type { AssertionCheck } from './on-behalf-of.ts'
import { describeResource } from './provider-resource.ts'
import type { RecordSignIn } from './record-sign-ins.ts'
import { requireConsented } from './refresh-scopes.ts'
import { interactionRoute, routes } from './route.ts'
import { createStateAdapter } from './state-adapter.ts'
import { askedScopeParameter } from './token-answer.ts'

export interface ProviderOptions {
  readonly database: Database
  readonly identity: Identity
  readonly secretBox: SecretBox
  readonly secret: IssuerSecret
  readonly log: Logger
  readonly recordSignIn: RecordSignIn
  readonly findRevoked: AssertionCheck['findRevoked']
  readonly gatekeeper: Gatekeeper
  readonly requireRoom: RequireRoom
  /** Where the portal is served, for its redirects. */
  readonly portalUris: () => readonly string[]
}

const minute = 60
const day = 24 * 60 * minute

/** What the library is told: where state is kept, how long things last, which flows there are. */
export function configureProvider(
  { database, identity, secretBox, secret, portalUris, requireRoom }: ProviderOptions,
  keys: readonly SigningKey[],
): Configuration {
  const { sql } = database
  const { tenantId } = identity
  return {
    adapter: (model) =>
      model === 'Client'
        ? createClientDirectory(sql, tenantId, portalUris)
        : createStateAdapter(model, { sql, box: secretBox, secret, requireRoom }),
    jwks: { keys: keys.map(describeKey) },
    routes,
    scopes: [...signInScopes],
    claims: {
      openid: ['sub', 'oid', 'tid', 'ver', 'roles'],
      profile: ['name', 'preferred_username'],
      email: ['email'],
    },
    conformIdTokenClaims: false,
    responseTypes: ['code'],
    extraParams: [askedScopeParameter],
    allowOmittingSingleRegisteredRedirectUri: false,
    // A confidential client proves by its secret that a code is its own.
    pkce: { required: (_ctx, client) => client.clientAuthMethod === 'none' },
    clientAuthMethods: ['client_secret_basic', 'client_secret_post', 'private_key_jwt', 'none'],
    assertJwtClientAuthClaimsAndHeader: checkAssertion,
    clientDefaults: { id_token_signed_response_alg: signingAlgorithm },
    enabledJWA: {
      idTokenSigningAlgValues: [signingAlgorithm],
      clientAuthSigningAlgValues: [...assertionAlgorithms],
    },
    extraClientMetadata: { properties: [...clientFacts] },
    cookies: {
      keys: [secret.cookieKey],
      names: {
        session: 'masquerade_session',
        interaction: 'masquerade_sign_in',
        resume: 'masquerade_resume',
      },
      long: { signed: true, httpOnly: true, sameSite: 'lax' },
      short: { signed: true, httpOnly: true, sameSite: 'lax' },
    },
    clientBasedCORS: (_ctx, origin, client) =>
      client.clientAuthMethod === 'none' &&
      (client.redirectUris ?? []).some((uri) => URL.parse(uri)?.origin === origin),
    findAccount: async (ctx, id, token) => {
      const user = await findActiveUser(sql, tenantId, { id })
      return user && !isOutdated(ctx, token, user.passwordChangedAt)
        ? describeAccount(user, tenantId, {
            readRoles: () => listAppRoles(ctx, sql, tenantId, id),
            mayTellName: () => mayTellName(ctx, sql, tenantId, id),
          })
        : undefined
    },
    loadExistingGrant: loadGrant(sql, identity),
    interactions: {
      policy: createInteractionPolicy(sql, tenantId),
      url: (ctx, interaction) =>
        new URL(ctx.oidc.urlFor('authorization')).pathname.replace(
          routes.authorization,
          `${interactionRoute}/${interaction.uid}`,
        ),
    },
    formats: { customizers: { jwt: writeAccessTokenClaims(sql, identity, secret) } },
    issueRefreshToken: async (_ctx, client, code) =>
      client.grantTypeAllowed('refresh_token') && code.scopes.has('offline_access'),
    rotateRefreshToken: async (ctx) => {
      await requireConsented(sql, tenantId)(ctx)
      return true
    },
    expiresWithSession: async (_ctx, code) => !code.scopes.has('offline_access'),
    renderError: renderLibraryError,
    ttl: {
      AccessToken: countLifetime,
      ClientCredentials: countLifetime,
      AuthorizationCode: minute,
      DeviceCode: 15 * minute,
      IdToken: 60 * minute,
      Interaction: 30 * minute,
      RefreshToken: 14 * day,
      Grant: 90 * day,
      // A stranger's session holds no more than the token of a form.
      Session: (_ctx, { accountId }) => (accountId === undefined ? 30 * minute : 12 * 60 * minute),
    },
    features: {
      devInteractions: { enabled: false },
      // On by default: our claims bind no token to a key, and a client must not take one for bound.
      dPoP: { enabled: false },
      pushedAuthorizationRequests: { enabled: false },
      clientCredentials: { enabled: true },
      deviceFlow: createDeviceFlow(
        async (id) => (await findActiveUser(sql, tenantId, { id }))?.userPrincipalName,
      ),
      revocation: {
        enabled: true,
        allowedPolicy: async (_ctx, client, token) => token.clientId === client.clientId,
      },
      userinfo: { enabled: false },
      rpInitiatedLogout: {
        enabled: true,
        logoutSource: renderLogout,
        postLogoutSuccessSource: renderLogoutDone,
      },
      resourceIndicators: {
        enabled: true,
        defaultResource: async () => identity.origin(),
        useGrantedResource: async () => true,
        getResourceServerInfo: (ctx, resource) => describeResource(ctx, resource, identity, sql),
      },
    },
  }
}

/** In seconds, as `describeResource` says. */
function countLifetime(_ctx: unknown, { resourceServer }: AccessToken | ClientCredentials): number {
  return resourceServer?.accessTokenTTL ?? accessTokenLifetimeSeconds
}

function describeKey({ kid, privateKey }: SigningKey) {
  return { ...privateKey.export({ format: 'jwk' }), kid, alg: signingAlgorithm, use: 'sig' }
}

/** True for a session, code or refresh token of a sign-in with an earlier password. */
function isOutdated(ctx: KoaContextWithOIDC, token: unknown, changedAt: Date | undefined): boolean {
  const { authTime } = (token ?? {}) as { authTime?: number }
  const signedInAt = authTime ?? ctx.oidc.session?.authTime()
  if (changedAt === undefined || signedInAt === undefined) return false
  return isOlderThanPassword(signedInAt, changedAt)
}
