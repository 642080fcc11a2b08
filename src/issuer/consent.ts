import { errors, type Grant, interactionPolicy, type KoaContextWithOIDC, type Provider } from 'oidc-provider'
import { firstPartyApplications } from '../auth/first-party.ts'
import type { Identity } from '../auth/identity.ts'
import { defaultScope, isConsentable, signInScopes } from '../auth/known-permissions.ts'
import type { Query } from '../db/query.ts'
import { listDelegatedPermissions } from '../directory/applications/granted-permissions.ts'
import { readRedirectOrigin } from '../directory/applications/redirect-origins.ts'
import { requireAssignment } from './app-roles.ts'
import { resourceScopes } from './choose-granted.ts'
import { clientFactsOf } from './client-facts.ts'
import { deviceGrant } from './route.ts'
import { deviceOrigin, readSignInOrigin } from './sign-in-origin.ts'

const { Check, Prompt, base } = interactionPolicy

export interface MissingConsent {
  /** The person can say yes to these. */
  readonly consentable: readonly string[]
  readonly administratorOnly: readonly string[]
}

const missing = new WeakMap<object, MissingConsent>()

/** When a page is shown to the person, and which. */
export function createInteractionPolicy(sql: Query, tenantId: string) {
  const policy = base()
  policy.add(new Prompt({ name: 'select_account', requestable: true }), 0)
  const login = policy.get('login')
  login?.checks.add(
    new Check('account_gone', 'the account cannot sign in any more', (ctx) => {
      const { session, account } = ctx.oidc
      return session?.accountId !== undefined && account === undefined
    }),
  )
  login?.checks.add(
    new Check('portal_elsewhere', 'the portal is where it was asked for', (ctx) => {
      refuseOtherOrigin(ctx)
      return false
    }),
  )
  login?.checks.add(
    new Check('address_gone', 'the application still has the address of the request', (ctx) => {
      refuseRemovedAddress(ctx)
      return false
    }),
  )
  const consent = policy.get('consent')
  for (const reason of ['native_client_prompt', 'op_scopes_missing', 'rs_scopes_missing'])
    consent?.checks.remove(reason)
  consent?.checks.add(
    new Check('native_client_prompt', 'native clients need a person', 'interaction_required', (ctx) => {
      const { client, result } = ctx.oidc
      // Another program may wait at a loopback address; a device's code was confirmed by hand already.
      return client?.applicationType === 'native' && !result?.consent && !isForDevice(ctx)
    }),
  )
  consent?.checks.add(
    new Check(
      'device_prompt',
      'the person who signed in confirms the device',
      'interaction_required',
      (ctx) => {
        const { result } = ctx.oidc
        // An attacker who planted the cookies of this sign-in may have confirmed the code, and cannot see the new session.
        return isForDevice(ctx) && result?.login !== undefined && !result.consent
      },
    ),
  )
  consent?.checks.add(
    new Check(
      'consent_missing',
      'no consent covers this yet',
      'consent_required',
      async (ctx) => {
        if (ctx.oidc.result?.consent) return false
        const lacking = await findMissingConsent(ctx, sql, tenantId)
        missing.set(ctx.oidc, lacking)
        return lacking.consentable.length + lacking.administratorOnly.length > 0
      },
      (ctx) => ({ missing: missing.get(ctx.oidc) }),
    ),
  )
  return policy
}

function isForDevice({ oidc }: KoaContextWithOIDC): boolean {
  return /^(code|device)_/.test(oidc.route)
}

/**
 * The portal gets its code without a page, so the code goes back to the origin that the browser asked at and to no other:
 * at another loopback address, of which the portal has several, another program may listen.
 */
function refuseOtherOrigin({ oidc, protocol, host }: KoaContextWithOIDC): void {
  if (oidc.client?.clientId !== firstPartyApplications.portal.appId) return
  const target = URL.parse(String(oidc.params?.redirect_uri ?? ''))
  if (target?.origin !== `${protocol}://${host}`) throw new errors.InvalidRedirectUri()
}

/** The library looks at the address when a request begins. A page may stand open while an administrator removes the address. */
function refuseRemovedAddress(ctx: KoaContextWithOIDC): void {
  const { client, params } = ctx.oidc
  if (!client || clientFactsOf(client).firstParty) return
  if (isForDevice(ctx)) {
    if (!client.grantTypeAllowed(deviceGrant)) throw new errors.UnauthorizedClient()
  } else if (!client.redirectUriAllowed(String(params?.redirect_uri))) throw new errors.InvalidRedirectUri()
}

export async function findMissingConsent(
  ctx: KoaContextWithOIDC,
  sql: Query,
  tenantId: string,
): Promise<MissingConsent> {
  const { client, session, params, requestParamScopes } = ctx.oidc
  if (!client || !session?.accountId) throw new Error('consent is asked of a person who signed in')
  const facts = clientFactsOf(client)
  const origin = isForDevice(ctx) ? deviceOrigin : readRedirectOrigin(params?.redirect_uri)
  const granted = new Set(
    await listDelegatedPermissions(sql, { tenantId, userId: session.accountId, origin, ...facts }),
  )
  const isSignInScope = (name: string) => (signInScopes as readonly string[]).includes(name)
  // A person who never used an application is asked, even when it requests only granted permissions.
  const asked = granted.size === 0 ? [...requestParamScopes, 'openid'] : [...requestParamScopes]
  const lacking = [...new Set(asked)].filter(
    (name) => name !== defaultScope && !granted.has(name) && !(facts.firstParty && isSignInScope(name)),
  )
  const mayConsent = (name: string) => isSignInScope(name) || (!facts.firstParty && isConsentable(name))
  return {
    consentable: lacking.filter(mayConsent),
    administratorOnly: lacking.filter((name) => !mayConsent(name)),
  }
}

/** Whether the client has consent for `profile`, at the origin of the sign-in that an id token is issued for. */
export async function mayTellName(
  ctx: KoaContextWithOIDC,
  sql: Query,
  tenantId: string,
  userId: string,
): Promise<boolean> {
  const { client } = ctx.oidc
  if (!client) return false
  const facts = clientFactsOf(client)
  if (facts.firstParty) return true
  const origin = readSignInOrigin(ctx)
  return (await listDelegatedPermissions(sql, { tenantId, userId, origin, ...facts })).includes('profile')
}

/**
 * Finds the grant of the session and client, or opens one. It records every scope and is never saved again: the tables
 * say what a token carries, and saving it again could bring back a grant that another node ends at this moment.
 */
export function loadGrant(sql: Query, identity: Identity) {
  return async (ctx: KoaContextWithOIDC): Promise<Grant | undefined> => {
    const { provider, result, session, client } = ctx.oidc
    const consented = result?.consent?.grantId
    if (consented) return provider.Grant.find(consented)
    if (!client || !session?.accountId || !ctx.oidc.account) return undefined
    await requireAssignment(sql, identity.tenantId, client, session.accountId)
    const lacking = await findMissingConsent(ctx, sql, identity.tenantId)
    if (lacking.consentable.length + lacking.administratorOnly.length > 0) return undefined
    const { accountId } = session
    const known = session.grantIdFor(client.clientId)
    return openGrant(provider, identity, { accountId, clientId: client.clientId }, known)
  }
}

/** `known`: the grant that the session has for the client already. A second one would outlive the sign-out, which finds the last. */
export async function openGrant(
  provider: Provider,
  identity: Identity,
  whose: { readonly accountId: string; readonly clientId: string },
  known?: string,
): Promise<Grant> {
  const found = known === undefined ? undefined : await provider.Grant.find(known)
  if (found?.accountId === whose.accountId && found.clientId === whose.clientId) return found
  const grant = new provider.Grant(whose)
  grant.addOIDCScope(signInScopes.join(' '))
  grant.addResourceScope(identity.origin(), resourceScopes.join(' '))
  await grant.save()
  return grant
}
