import * as oidc from 'openid-client'
import { refreshGraceSeconds } from '../../src/issuer/state-adapter.ts'
import type { Browser, Page } from './browser.ts'
import type { Person } from './issuer.ts'
import type { TestService } from './service.ts'

export const redirectUri = 'https://client.example/callback'
export const singlePage = { spa: { redirectUris: [redirectUri] } }

/** An authorization request of a public client, and how it redeems the code. */
export async function beginSignIn(
  service: TestService,
  appId: string,
  scope: string,
  more: Record<string, string> = {},
) {
  const issuer = new URL(service.auth.identity.issuer())
  const config = await oidc.discovery(issuer, appId, undefined, oidc.None())
  const codeVerifier = oidc.randomPKCECodeVerifier()
  const state = oidc.randomState()
  const url = oidc.buildAuthorizationUrl(config, {
    redirect_uri: redirectUri,
    scope,
    state,
    code_challenge: await oidc.calculatePKCECodeChallenge(codeVerifier),
    code_challenge_method: 'S256',
    ...more,
  })
  const exchange = (page: Page) =>
    oidc.authorizationCodeGrant(config, page.url, {
      pkceCodeVerifier: codeVerifier,
      expectedState: state,
      idTokenExpected: scope.split(' ').includes('openid'),
    })
  return { config, url, exchange }
}

export function signIn(browser: Browser, page: Page, { userPrincipalName, password }: Person): Promise<Page> {
  return browser.submit(page, { user: userPrincipalName, password })
}

/** Signs in for a device whose code was confirmed, and confirms it once more. */
export async function signInDevice(browser: Browser, page: Page, person: Person): Promise<Page> {
  return browser.submit(await signIn(browser, page, person))
}

/** As if the refresh tokens that were used had been used longer ago than a second use is allowed. */
export async function endGrace({ database }: TestService): Promise<void> {
  const grace = `${refreshGraceSeconds} seconds`
  await database.sql`
    update oidc_state set consumed_at = consumed_at - ${grace}::interval where model = 'RefreshToken'`
}
